/**
 * Draws charts as SVG, for light and dark pages. With ECharts, the library that needs no browser, this file would
 * have 40 lines less, but the packages 67 MB more, and axes would be marked at round numbers, not where it was measured.
 */

/**
 * @typedef {object} Series
 * @property {string} name
 * @property {number} colour  an index into the palette
 * @property {readonly (readonly [x: number, y: number])[]} points
 */

/** @typedef {{ name: string, colour: number, value: number }} Bar */

/** Colours for light and for dark backgrounds. */
const PALETTE = [
  ["#0060a8", "#4ea8f0"],
  ["#57606a", "#a8b1bb"],
  ["#00806a", "#35c4a4"],
  ["#c2410c", "#fb923c"],
  ["#a21caf", "#e879f9"],
  ["#a16207", "#facc15"],
  ["#be123c", "#fb7185"],
  ["#4d7c0f", "#a3e635"],
  ["#5b21b6", "#a78bfa"],
  ["#155e75", "#67e8f9"],
  ["#7f1d1d", "#fca5a5"],
  ["#3730a3", "#c7d2fe"],
]

export const COLOURS = PALETTE.length

const WIDTH = 820
const LINE_HEIGHT = 18

/** Returns the style of a chart in some colours of the palette. @param {readonly number[]} colours */
function style(colours) {
  const rules = (/** @type {0 | 1} */ scheme) =>
    [...new Set(colours)].map((i) => `.c${i} { --colour: ${PALETTE[i][scheme]} }`).join(" ")
  return `
text { font: 12px system-ui, sans-serif; fill: var(--text) }
rect { fill: var(--colour) }
.title { font-size: 15px; font-weight: 600 }
.grid { stroke: var(--grid); stroke-width: 1 }
.line { fill: none; stroke-width: 2 }
svg { --background: #ffffff; --text: #1f2328; --grid: #d1d9e0 }
${rules(0)}
@media (prefers-color-scheme: dark) {
svg { --background: #0d1117; --text: #e6edf3; --grid: #30363d }
${rules(1)}
}`
}

const escaped = (/** @type {string} */ text) =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")

const at = (/** @type {number} */ number) => String(Math.round(number * 10) / 10)

/** @param {number} x @param {number} y @param {string} content @param {string} [attributes] */
const text = (x, y, content, attributes = "") =>
  `<text x="${at(x)}" y="${at(y)}"${attributes && ` ${attributes}`}>${escaped(content)}</text>`

/** @param {string} title @param {number} height @param {readonly number[]} colours @param {readonly string[]} elements */
const chart = (title, height, colours, elements) => ({
  title,
  svg: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(title)}">
<style>${style(colours)}
</style>
<rect width="100%" height="100%" rx="6" style="fill: var(--background)"/>
${text(16, 26, title, 'class="title"')}
${elements.join("\n")}
</svg>
`,
})

/** Formats 1200 as "1.2k". @param {number} value */
export function shortNumber(value) {
  for (const [unit, letter] of /** @type {const} */ ([
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ]))
    if (value >= unit) return `${Number((value / unit).toPrecision(3))}${letter}`
  return String(Number(value.toPrecision(3)))
}

/** Returns 1, 2, 5, 10, …, from the last one below `least` to the first one above `most`. @param {number} least @param {number} most */
function logTicks(least, most) {
  const steps = most / least > 500 ? [1] : [1, 2, 5]
  const all = []
  for (let power = -9; power <= 12; power++) for (const step of steps) all.push(step * 10 ** power)
  const inside = all.filter((tick) => tick > least && tick < most)
  const below = all.filter((tick) => tick <= least).slice(-1)
  const above = all.filter((tick) => tick >= most).slice(0, 1)
  return [...below, ...inside, ...above]
}

/**
 * Draws lines on two logarithmic axes.
 * @param {{ title: string, x: string, y: string, xName: (x: number) => string, series: readonly Series[] }} chart
 */
export function lineChart({ title, x, y, xName, series }) {
  const height = 420
  const box = { left: 64, right: WIDTH - 240, top: 48, bottom: height - 52 }
  const points = series.flatMap((one) => one.points)
  const xs = [...new Set(points.map(([value]) => value))].sort((a, b) => a - b)
  const ticks = logTicks(
    Math.min(...points.map(([, v]) => v)),
    Math.max(...points.map(([, v]) => v)),
  )

  /** @param {number} low @param {number} high @param {number} from @param {number} to */
  const scale = (low, high, from, to) => (/** @type {number} */ value) =>
    from + ((to - from) * Math.log(value / low)) / (Math.log(high / low) || 1)
  const toX = scale(xs[0], xs[xs.length - 1], box.left + 12, box.right - 12)
  const toY = scale(ticks[0], ticks[ticks.length - 1], box.bottom, box.top)

  const colours = series.map(({ colour }) => colour)
  return chart(title, height, colours, [
    ...ticks.map(
      (tick) =>
        `<path class="grid" d="M${box.left} ${at(toY(tick))}H${box.right}"/>${text(box.left - 8, toY(tick) + 4, shortNumber(tick), 'text-anchor="end"')}`,
    ),
    ...xs.map((value) => text(toX(value), box.bottom + 18, xName(value), 'text-anchor="middle"')),
    text((box.left + box.right) / 2, height - 12, x, 'text-anchor="middle"'),
    text(
      16,
      (box.top + box.bottom) / 2,
      y,
      `text-anchor="middle" transform="rotate(-90 16 ${at((box.top + box.bottom) / 2)})"`,
    ),
    ...series.flatMap(({ name, colour, points }, i) => {
      const path = points.map(([px, py]) => `${at(toX(px))} ${at(toY(py))}`).join("L")
      const legend = box.top + 6 + i * LINE_HEIGHT
      return [
        `<g class="c${colour}" style="stroke: var(--colour); fill: var(--colour)">`,
        `<path class="line" d="M${path}"/>`,
        points
          .map(
            ([px, py]) =>
              `<circle cx="${at(toX(px))}" cy="${at(toY(py))}" r="3"><title>${escaped(`${name}, ${xName(px)}: ${shortNumber(py)}`)}</title></circle>`,
          )
          .join(""),
        `<path class="line" d="M${box.right + 16} ${legend}h20"/></g>`,
        text(box.right + 42, legend + 4, name),
      ]
    }),
  ])
}

/**
 * Draws groups of bars with a common zero.
 * @param {{ title: string, unit: string, groups: readonly { name: string, bars: readonly Bar[] }[] }} chart
 */
export function barChart({ title, unit, groups }) {
  const left = 264
  const most = Math.max(...groups.flatMap(({ bars }) => bars.map(({ value }) => value)))
  const widthOf = (/** @type {number} */ value) => (value / most) * (WIDTH - left - 90)
  let y = 44
  const elements = groups.flatMap(({ name, bars }) => {
    y += LINE_HEIGHT
    const heading = text(16, y, name, 'style="font-weight: 600"')
    const drawn = bars.map((bar) => {
      y += LINE_HEIGHT
      const rect = `<rect class="c${bar.colour}" x="${left}" y="${y - 11}" width="${at(widthOf(bar.value))}" height="13" rx="2"/>`
      const value = text(left + widthOf(bar.value) + 6, y, `${shortNumber(bar.value)} ${unit}`)
      return text(left - 8, y, bar.name, 'text-anchor="end"') + rect + value
    })
    y += LINE_HEIGHT / 2
    return [heading, ...drawn]
  })
  const colours = groups.flatMap(({ bars }) => bars.map(({ colour }) => colour))
  return chart(title, y + 12, colours, elements)
}
