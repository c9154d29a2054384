/** The bar between the table and the details, which can be dragged or moved with arrow keys. */

const STEP = 24
const MIN_PERCENT = 15
const MAX_PERCENT = 85

export class Splitter {
  readonly #bar: HTMLElement
  readonly #pane: HTMLElement

  constructor(bar: HTMLElement, pane: HTMLElement) {
    this.#bar = bar
    this.#pane = pane
    bar.addEventListener("pointerdown", (event) => bar.setPointerCapture(event.pointerId))
    bar.addEventListener("pointermove", (event) => {
      if (bar.hasPointerCapture(event.pointerId)) this.#resize(this.#bottom - event.clientY)
    })
    bar.addEventListener("keydown", (event) => {
      const step = { ArrowUp: STEP, ArrowDown: -STEP }[event.key]
      if (step === undefined) return
      event.preventDefault()
      this.#resize(this.#pane.offsetHeight + step)
    })
  }

  get #bottom(): number {
    return this.#pane.getBoundingClientRect().bottom
  }

  #resize(pixels: number): void {
    const percent = (100 * pixels) / this.#pane.parentElement!.clientHeight
    const kept = Math.max(MIN_PERCENT, Math.min(percent, MAX_PERCENT))
    this.#pane.style.height = `${kept}%`
    this.#bar.setAttribute("aria-valuenow", String(Math.round(kept)))
  }
}
