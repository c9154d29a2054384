/** Accepts files that are dropped anywhere on the page. */

/** Sets the attribute data-dropping of `target` while a file is dragged over it. */
export function listenForDrops(target: HTMLElement, onDrop: (files: File[]) => void): void {
  target.addEventListener("dragover", (event) => {
    event.preventDefault()
    target.dataset.dropping = ""
  })
  target.addEventListener("dragleave", (event) => {
    // The event fires for every element that is left; relatedTarget is null outside of the page.
    if (event.relatedTarget === null) delete target.dataset.dropping
  })
  target.addEventListener("drop", (event) => {
    event.preventDefault()
    delete target.dataset.dropping
    const files = [...(event.dataTransfer?.files ?? [])]
    if (files.length > 0) onDrop(files)
  })
}
