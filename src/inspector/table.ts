/** The table of rows. Only visible rows are elements, and only nearby ones are in memory. */
import { COLUMNS, type ColumnName } from "../capture/rows.js"
import { append, html, setText } from "./dom.js"
import { bytes, count, isLarger, ratio, seconds } from "./format.js"
import type { Row, Sorting, ViewState } from "./protocol.js"
import { inOneLine } from "./readable.js"

/** The height in style.css. */
const ROW_HEIGHT = 24
/**
 * Maximum height in pixels. Browsers limit it, some to 17.9 million, so with more rows the
 * scrollbar is proportional.
 */
const MAX_HEIGHT = 16_000_000
const PAGE_ROWS = 100
const KEPT_PAGES = 60

interface Options {
  fetch(view: number, from: number, count: number): Promise<Row[]>
  /** Returns the place of a row by its number. */
  place(view: number, row: number): Promise<number | undefined>
  /** Called when another row is selected. */
  onSelect(): void
  /** Called to show the details of the selected row. */
  onOpen(): void
  /** Called to sort the rows; undefined is the order of the capture. */
  onSort(sorting: Sorting | undefined): void
}

export class Table {
  readonly #grid: HTMLElement
  readonly #names: HTMLElement
  #sorting: Sorting | undefined
  readonly #spacer: HTMLElement
  readonly #window: HTMLElement
  readonly #latest: HTMLElement
  readonly #options: Options
  readonly #pages = new Map<number, Row[] | undefined>()
  readonly #lines: HTMLElement[] = []
  #view = 0
  #order = 0
  #rows = 0
  /** Pixels above the visible area, if all rows were stacked. */
  #top = 0
  /** The scrollTop that was last set, to recognise changes by the scrollbar. */
  #scrolled = 0
  #selected = -1
  /** The number of the selected row, once it is known. */
  #selectedRow: number | undefined
  /** Whether the rows are those of a recording in progress. */
  #grows = false
  /** Whether the end stays in sight while rows are added: until one scrolls away or selects a row. */
  #follows = true
  #frame = 0

  /**
   * @param grid the scrolling element. It contains `names`, the header row; `spacer`, as tall as all
   * rows; and `window`, which stays visible.
   * @param latest the button that goes to the end, and follows it again.
   */
  constructor(
    grid: HTMLElement,
    names: HTMLElement,
    spacer: HTMLElement,
    window: HTMLElement,
    latest: HTMLElement,
    options: Options,
  ) {
    this.#names = names
    for (const column of CELLS) names.append(this.#header(column))
    grid.setAttribute("aria-colcount", String(CELLS.length))
    this.#grid = grid
    this.#spacer = spacer
    this.#window = window
    this.#latest = latest
    this.#options = options
    grid.addEventListener("scroll", () => this.#onScroll())
    grid.addEventListener("wheel", (event) => this.#onWheel(event), { passive: false })
    grid.addEventListener("keydown", (event) => this.#onKey(event))
    grid.addEventListener("blur", () => {
      // It stays the active element if the window has lost the focus.
      if (document.activeElement !== grid) grid.classList.remove("unmarked")
    })
    window.addEventListener("click", (event) => this.#onClick(event))
    latest.addEventListener("click", () => {
      this.#followEnd()
      this.focus()
    })
    new ResizeObserver(() => this.#keepEnd()).observe(grid)
  }

  #header(column: Cell): HTMLElement {
    const { name, title } = column === "number" ? NUMBER : COLUMNS[column]
    const button = html("button", { type: "button", title, "aria-label": name || title }, name)
    button.addEventListener("click", () => this.#sort(column))
    const shown = { role: "columnheader", class: classOf(column), "data-column": column }
    return html("span", shown, button)
  }

  /** Sorts by a column: first ascending, then descending, then not at all. */
  #sort(column: Cell): void {
    const { column: previous, descending } = this.#sorting ?? {}
    if (column === "number" || (column === previous && descending)) this.#sorting = undefined
    else this.#sorting = { column, descending: column === previous }
    this.showSorting(this.#sorting)
    this.#options.onSort(this.#sorting)
  }

  showSorting(sorting: Sorting | undefined): void {
    this.#sorting = sorting
    for (const header of this.#names.querySelectorAll<HTMLElement>("[data-column]")) {
      const order = sorting?.descending ? "descending" : "ascending"
      header.ariaSort = header.dataset.column === sorting?.column ? order : null
    }
  }

  get selected(): number {
    return this.#selected
  }

  /**
   * Shows more rows, or other ones if the view has changed, or the same in another order.
   *
   * @param grows whether they are those of a recording in progress, whose end is followed.
   */
  show({ number, order, rows }: ViewState, grows: boolean): void {
    this.#onScroll() // whose event may still be to come
    this.#grows = grows
    if (number !== this.#view) {
      this.#view = number
      this.#order = order
      this.#pages.clear()
      this.#selected = -1
      this.#top = 0
      this.#follows = true
    } else if (order !== this.#order) {
      this.#order = order
      this.#pages.clear()
      void this.#findSelected()
    } else if (rows !== this.#rows) {
      // The last page was fetched before it was complete.
      this.#pages.delete(Math.floor(this.#rows / PAGE_ROWS))
    }
    this.#rows = rows
    // The header row counts.
    this.#grid.setAttribute("aria-rowcount", String(rows + 1))
    this.#spacer.style.height = `${Math.min(this.#height, MAX_HEIGHT)}px`
    this.#keepEnd()
  }

  /** Draws the rows again, at the end if that is followed. Of sorted rows, it is not the newest. */
  #keepEnd(): void {
    const follows = this.#grows && this.#follows && !this.#sorting
    this.#scrollTo(follows ? this.#height : this.#top)
  }

  #followEnd(): void {
    this.#follows = true
    this.#keepEnd()
  }

  get #isAtEnd(): boolean {
    // Positions may be fractions of pixels.
    return this.#top + this.#sight >= this.#height - 1
  }

  /** Moves the selection to where its row is now. */
  async #findSelected(): Promise<void> {
    const row = this.#selectedRow
    if (this.#selected < 0 || row === undefined) return
    const place = await this.#options.place(this.#view, row)
    if (place === undefined || row !== this.#selectedRow) return
    this.#selected = place
    this.#draw()
  }

  select(place: number): void {
    if (this.#rows === 0) return
    this.#follows = false
    this.#selectedRow = undefined
    this.#selected = Math.max(0, Math.min(place, this.#rows - 1))
    this.reveal()
    this.#draw()
    this.#options.onSelect()
  }

  /** Scrolls just enough to make the selected row visible. */
  reveal(): void {
    if (this.#selected < 0) return
    const above = this.#selected * ROW_HEIGHT
    if (above < this.#top) this.#scrollTo(above)
    else if (above + ROW_HEIGHT > this.#top + this.#sight)
      this.#scrollTo(above + ROW_HEIGHT - this.#sight)
  }

  focus(): void {
    this.#grid.focus({ preventScroll: true })
  }

  /** Takes the focus so that keys work, without a ring until one is pressed. */
  focusUnmarked(): void {
    this.#grid.classList.add("unmarked")
    this.focus()
  }

  get #height(): number {
    return this.#rows * ROW_HEIGHT
  }

  /** Pixels of visible rows, without the header row. */
  get #sight(): number {
    return Math.max(ROW_HEIGHT, this.#grid.clientHeight - ROW_HEIGHT)
  }

  /** Pixels of rows for each pixel of the scrollbar. */
  get #scale(): number {
    const bar = Math.min(this.#height, MAX_HEIGHT) - this.#sight
    return bar <= 0 ? 1 : (this.#height - this.#sight) / bar
  }

  #scrollTo(top: number): void {
    this.#top = Math.max(0, Math.min(top, this.#height - this.#sight))
    this.#grid.scrollTop = this.#top / this.#scale
    this.#scrolled = this.#grid.scrollTop
    this.#draw()
  }

  #onScroll(): void {
    if (this.#grid.scrollTop === this.#scrolled) return
    this.#scrolled = this.#grid.scrollTop
    this.#top = this.#scrolled * this.#scale
    this.#follows = this.#isAtEnd
    this.#draw()
  }

  /** Scrolls rows with the wheel if one pixel of the scrollbar stands for many rows. */
  #onWheel(event: WheelEvent): void {
    if (this.#scale === 1 || event.ctrlKey || event.deltaY === 0) return
    event.preventDefault()
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE
    this.#scrollTo(this.#top + event.deltaY * (lines ? ROW_HEIGHT : 1))
    this.#follows = this.#isAtEnd
  }

  #onKey(event: KeyboardEvent): void {
    this.#grid.classList.remove("unmarked")
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.#grid) return
    const page = Math.max(1, Math.floor(this.#sight / ROW_HEIGHT) - 1)
    const at = this.#selected
    const targets: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: this.#rows - 1,
    }
    const target = targets[event.key]
    if (target !== undefined) {
      this.select(target)
      if (event.key === "End") this.#followEnd()
    } else if (event.key === "Enter") {
      if (at < 0) this.select(0)
      this.#options.onOpen()
    } else return
    event.preventDefault()
  }

  #onClick(event: MouseEvent): void {
    const line = (event.target as Element).closest<HTMLElement>(".row")
    // The second click of a double click may be over another row, because the details have opened.
    if (!line || event.detail > 1) return
    this.select(Number(line.dataset.place))
    this.focus()
    this.#options.onOpen()
  }

  #draw(): void {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0
      this.#drawNow()
    })
  }

  #drawNow(): void {
    this.#latest.hidden = !this.#grows || this.#sorting !== undefined || this.#isAtEnd
    const first = Math.floor(this.#top / ROW_HEIGHT)
    const shown = Math.max(0, Math.min(Math.ceil(this.#sight / ROW_HEIGHT) + 1, this.#rows - first))
    while (this.#lines.length < shown) {
      const line = emptyLine()
      this.#lines.push(line)
      this.#window.append(line)
    }
    while (this.#lines.length > shown) this.#lines.pop()!.remove()
    for (const [i, line] of this.#lines.entries()) {
      const place = first + i
      const row = this.#row(place)
      fillLine(line, place, row, place === this.#selected)
      if (place === this.#selected) this.#selectedRow ??= row?.number
    }
    // Whole pixels, because text would blur otherwise.
    this.#window.style.transform = `translateY(${-Math.round(this.#top - first * ROW_HEIGHT)}px)`
    const active = this.#lines.find((line) => line.getAttribute("aria-selected") === "true")
    if (active) this.#grid.setAttribute("aria-activedescendant", active.id)
    else this.#grid.removeAttribute("aria-activedescendant")
  }

  /** Returns a row if it is in memory; otherwise fetches it. */
  #row(place: number): Row | undefined {
    const page = Math.floor(place / PAGE_ROWS)
    if (this.#pages.has(page)) return this.#pages.get(page)?.[place % PAGE_ROWS]
    const view = this.#view
    this.#pages.set(page, undefined)
    for (const old of this.#pages.keys()) {
      if (this.#pages.size <= KEPT_PAGES) break
      this.#pages.delete(old)
    }
    void this.#options.fetch(view, page * PAGE_ROWS, PAGE_ROWS).then((rows) => {
      if (view !== this.#view) return
      const wanted = Math.min(PAGE_ROWS, this.#rows - page * PAGE_ROWS)
      // More rows were added during the fetch, so fetch the page again.
      if (rows.length < wanted) this.#pages.delete(page)
      else this.#pages.set(page, rows)
      this.#draw()
    })
    return undefined
  }
}

type Cell = "number" | ColumnName

const NUMBER = { name: "#", title: "Number of the row: the order of the capture" }
const CELLS: readonly Cell[] = ["number", ...(Object.keys(COLUMNS) as ColumnName[])]
// The list of connections has the class of this name.
const classOf = (cell: Cell): string => (cell === "connection" ? "conn" : cell)
let lines = 0

function emptyLine(): HTMLElement {
  return html(
    "div",
    { class: "row", role: "row", id: `row-${++lines}` },
    ...CELLS.map((name) => html("span", { role: "gridcell", class: classOf(name) })),
  )
}

function fillLine(line: HTMLElement, place: number, row: Row | undefined, selected: boolean): void {
  line.dataset.place = String(place)
  line.dataset.kind = row?.kind ?? "loading"
  line.classList.toggle("failed", row?.failed ?? false)
  line.setAttribute("aria-rowindex", String(place + 2))
  line.setAttribute("aria-selected", String(selected))
  const texts = row ? cells(row) : []
  for (const [i, cell] of [...line.children].entries()) {
    if (i < CELLS.length - 1) setText(cell, texts[i] ?? "")
    else {
      cell.replaceChildren()
      for (const child of previewOf(row)) append(cell, child)
    }
  }
  ;(line.children[CELLS.indexOf("from")] as HTMLElement).dataset.from = row?.from ?? ""
  const larger = row?.kind === "message" && isLarger(row.plainBytes, row.wireBytes)
  line.children[CELLS.indexOf("ratio")]!.classList.toggle("larger", larger)
}

function cells(row: Row): string[] {
  const { kind, plainBytes, wireBytes } = row
  const sized = kind === "message" || kind === "dictionary" || row.isEncrypted
  return [
    count(row.number),
    seconds(row.time),
    row.packet === undefined ? "" : String(row.packet),
    row.connection ? String(row.connection) : "",
    row.from ? arrows[row.from] : "",
    inOneLine(row.kind === "error" ? "error" : row.forms.join(" ")),
    row.parts ? String(row.parts) : "",
    // If nothing decodes, its length is not known.
    kind === "message" && (plainBytes || !row.failed) ? bytes(plainBytes) : "",
    sized ? bytes(wireBytes) : "",
    kind === "message" && (plainBytes || !row.failed) ? ratio(plainBytes, wireBytes) : "",
  ]
}

/** The client is on the left. */
export const arrows = { client: "→", server: "←" }

function previewOf(row: Row | undefined): (Node | string)[] {
  if (!row) return []
  const nodes = row.preview.map((piece) =>
    piece === "" && row.kind === "message" ? html("i", {}, "empty") : inOneLine(piece),
  )
  const apart = nodes.flatMap((node, i) => (i === 0 ? [node] : [html("i", {}, " ┊ "), node]))
  if (row.dictionary === "missing") apart.unshift(html("i", {}, "(missing dictionary) "))
  return row.cut ? [...apart, html("i", {}, "…")] : apart
}
