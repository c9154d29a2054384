/** Charts of bars or lines over even steps, with axes, a legend, and values under the pointer. */
import { html, svg } from "./dom.js"
import { roundUp } from "./format.js"

const MARGIN = { left: 62, right: 8, top: 8, bottom: 18 }

export interface Series {
  name: string
  /** A colour of style.css. */
  colour: "plain" | "wire" | "ratio"
  /** Undefined where there is no value. */
  values: readonly (number | undefined)[]
}

export interface Chart {
  kind: "area" | "line" | "bars"
  series: readonly Series[]
  /** Formats a value with its unit. */
  value(value: number): string
  /** Describes a step; `stepsName` names all steps. */
  step(index: number): string
  stepsName: string
  /** Marks on the horizontal axis; `at` is a step. */
  ticks: readonly { at: number; text: string }[]
  /** The base of the units on the vertical axis; 10 if undefined. */
  unit?: 1024
  /** Whether values are integers, so that there is no mark between 0 and 1. */
  whole?: boolean
}

/** A figure of index.html with a caption, in which charts are drawn. */
export class ChartFigure {
  readonly #figure: HTMLElement
  readonly #plot = html("div", { class: "plot" })
  readonly #legend = html("div", { class: "legend" })
  readonly #readout = html("output", { class: "readout" })
  readonly #table = html("table", { class: "unseen" })
  #chart: Chart | undefined
  #width = 0
  #height = 0

  constructor(figure: HTMLElement) {
    this.#figure = figure
    figure.querySelector("figcaption")!.append(this.#legend)
    figure.append(this.#plot, this.#readout, this.#table)
    this.#plot.addEventListener("pointermove", (event) => this.#point(event.offsetX))
    this.#plot.addEventListener("pointerleave", () => this.#unpoint())
    new ResizeObserver(([entry]) => {
      this.#width = entry!.contentRect.width
      this.#height = entry!.contentRect.height
      this.#draw()
    }).observe(this.#plot)
  }

  show(chart: Chart): void {
    this.#chart = chart
    this.#legend.replaceChildren(
      ...chart.series.map(({ name, colour }) =>
        html("span", { class: `key ${colour}` }, html("i"), name),
      ),
    )
    this.#fillTable(chart)
    this.#draw()
  }

  #draw(): void {
    const chart = this.#chart
    if (!chart || this.#width === 0) return
    this.#unpoint()
    if (chart.series.every(({ values }) => values.every((value) => value === undefined))) {
      // There is no ratio of messages that do not decode.
      const nothing = stepsOf(chart) === 0 ? "No messages" : "None"
      this.#plot.replaceChildren(html("p", { class: "nothing" }, nothing))
      return
    }
    const scale = this.#scale(chart)
    const { left, right, top, bottom } = MARGIN
    const drawing = svg("svg", {
      width: this.#width,
      height: this.#height,
      "aria-hidden": true,
      viewBox: `0 0 ${this.#width} ${this.#height}`,
    })
    for (const value of scale.marks) {
      const y = scale.y(value)
      drawing.append(
        line(value === 0 ? "axis" : "grid", [left, y], [this.#width - right, y]),
        svg("text", { x: left - 6, y: y + 3.5, class: "mark" }, chart.value(value)),
      )
    }
    for (const { at, text } of chart.ticks) {
      const x = scale.x(at)
      const y = this.#height - bottom
      const place = x > this.#width - 30 ? "tick last" : at === 0 ? "tick first" : "tick"
      drawing.append(
        line("axis", [x, y], [x, y + 3]),
        svg("text", { x, y: this.#height - 4, class: place }, text),
      )
    }
    for (const [i, series] of chart.series.entries())
      drawing.append(
        chart.kind === "bars"
          ? bars(series, i, chart.series.length, scale)
          : curve(series, chart.kind, scale),
      )
    drawing.append(svg("line", { class: "pointer", y1: top, y2: this.#height - bottom }))
    this.#plot.replaceChildren(drawing)
  }

  #scale(chart: Chart): Scale {
    const { left, right, top, bottom } = MARGIN
    const highest = Math.max(
      0,
      ...chart.series.flatMap(({ values }) => values.map((value) => value ?? 0)),
    )
    const mark = roundMark(highest, chart)
    const marks: number[] = []
    for (let value = 0; value < highest + mark; value += mark) marks.push(value)
    const full = marks.at(-1) || 1
    const stepWidth = (this.#width - left - right) / stepsOf(chart)
    const high = this.#height - top - bottom
    return {
      marks,
      stepWidth,
      x: (step) => left + step * stepWidth,
      y: (value) => top + high * (1 - value / full),
    }
  }

  /** Shows the values of the step under the pointer. */
  #point(x: number): void {
    const chart = this.#chart
    if (!chart) return
    const { stepWidth } = this.#scale(chart)
    const step = Math.floor((x - MARGIN.left) / stepWidth)
    if (step < 0 || step >= stepsOf(chart)) {
      this.#unpoint()
      return
    }
    const at = MARGIN.left + (step + 0.5) * stepWidth
    const pointer = this.#plot.querySelector(".pointer")
    pointer?.setAttribute("x1", String(at))
    pointer?.setAttribute("x2", String(at))
    const values = chart.series.map(({ name, colour, values }) => {
      const value = values[step]
      const text = value === undefined ? "–" : chart.value(value)
      return html("span", { class: `key ${colour}` }, html("i"), `${text} ${name}`)
    })
    this.#readout.replaceChildren(html("span", {}, chart.step(step)), ...values)
    this.#figure.classList.add("pointed")
  }

  #unpoint(): void {
    this.#figure.classList.remove("pointed")
  }

  /** Fills a table with the values, for screen readers. */
  #fillTable({ series, stepsName, step, value }: Chart): void {
    const names = [stepsName, ...series.map(({ name }) => name)]
    const head = html("tr", {}, ...names.map((name) => html("th", { scope: "col" }, name)))
    const rows = Array.from({ length: stepsOf({ series }) }, (_, i) =>
      html(
        "tr",
        {},
        html("th", { scope: "row" }, step(i)),
        ...series.map(({ values }) =>
          html("td", { "data-value": values[i] }, values[i] === undefined ? "" : value(values[i])),
        ),
      ),
    )
    this.#table.replaceChildren(html("thead", {}, head), html("tbody", {}, ...rows))
  }
}

interface Scale {
  marks: number[]
  stepWidth: number
  x(step: number): number
  y(value: number): number
}

type Point = readonly [x: number, y: number]

const line = (name: string, [x1, y1]: Point, [x2, y2]: Point): SVGElement =>
  svg("line", { class: name, x1, x2, y1, y2 })

const stepsOf = ({ series }: Pick<Chart, "series">): number =>
  Math.max(0, ...series.map(({ values }) => values.length))

function curve({ colour, values }: Series, kind: "area" | "line", scale: Scale): SVGElement {
  let path = ""
  let from: number | undefined
  const close = (to: number) => {
    if (kind === "area" && from !== undefined) path += `V${scale.y(0)}H${scale.x(from).toFixed(1)}Z`
    from = to
  }
  for (const [i, value] of values.entries()) {
    if (value === undefined) {
      close(i)
      from = undefined
      continue
    }
    const y = scale.y(value).toFixed(1)
    if (from === undefined) {
      from = i
      path += `M${scale.x(i).toFixed(1)} ${kind === "area" ? `${scale.y(0)}V` : ""}${y}`
    } else path += `V${y}`
    path += `H${scale.x(i + 1).toFixed(1)}`
  }
  close(values.length)
  return svg("path", { class: `${kind} ${colour}`, d: path })
}

function bars({ colour, values }: Series, index: number, of: number, scale: Scale): SVGElement {
  const width = Math.max(1, (scale.stepWidth * 0.8) / of)
  const start = scale.stepWidth * 0.1 + index * width
  let path = ""
  for (const [i, value] of values.entries())
    if (value)
      path += `M${(scale.x(i) + start).toFixed(1)} ${scale.y(0)}V${Math.min(scale.y(value), scale.y(0) - 1).toFixed(1)}h${width.toFixed(1)}V${scale.y(0)}Z`
  return svg("path", { class: `bars ${colour}`, d: path })
}

/** Returns a round distance between marks, so that there are two to four of them. */
function roundMark(highest: number, { unit, whole }: Chart): number {
  if (highest <= 0) return 1
  const power = unit ? unit ** Math.floor(Math.log(highest) / Math.log(unit)) : 1
  const mark = power * roundUp(highest / power / 2.5)
  return whole ? Math.max(1, mark) : mark
}
