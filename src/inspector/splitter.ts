/** The bar between the table and the details, which can be dragged or moved with arrow keys. */

const STEP = 24
const MIN_PERCENT = 15
const MAX_PERCENT = 85

/** Lets the user change the height of `pane` by `bar`, which is above it. */
export function listenForResizing(bar: HTMLElement, pane: HTMLElement): void {
  function resize(pixels: number): void {
    const percent = (100 * pixels) / pane.parentElement!.clientHeight
    const kept = Math.max(MIN_PERCENT, Math.min(percent, MAX_PERCENT))
    pane.style.height = `${kept}%`
    bar.setAttribute("aria-valuenow", String(Math.round(kept)))
  }
  bar.addEventListener("pointerdown", (event) => bar.setPointerCapture(event.pointerId))
  bar.addEventListener("pointermove", ({ pointerId, clientY }) => {
    if (bar.hasPointerCapture(pointerId)) resize(pane.getBoundingClientRect().bottom - clientY)
  })
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowUp: STEP, ArrowDown: -STEP }[event.key]
    if (step === undefined) return
    event.preventDefault()
    resize(pane.offsetHeight + step)
  })
}
