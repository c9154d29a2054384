/** Dropping a file anywhere on the page. */

/** While something hovers over `target`, its data-dropping attribute is there. */
export function listenForDrops(target: HTMLElement, onDrop: (file: File) => void): void {
  target.addEventListener("dragover", (event) => {
    event.preventDefault()
    target.dataset.dropping = ""
  })
  target.addEventListener("dragleave", (event) => {
    // It leaves every element that it passes; relatedTarget is null outside of the page.
    if (event.relatedTarget === null) delete target.dataset.dropping
  })
  target.addEventListener("drop", (event) => {
    event.preventDefault()
    delete target.dataset.dropping
    const [file] = event.dataTransfer?.files ?? []
    if (file) onDrop(file)
  })
}
