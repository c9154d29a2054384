/**
 * Creates elements from text only, so that nothing in a capture is ever parsed as HTML, and from
 * text in which every character can be seen. All text of the page goes through here.
 */
import { visibleLines } from "../capture/visible.js"

type Attributes = Record<string, string | number | boolean | undefined>
type Child = Node | string | undefined

export function html<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  return fill(document.createElement(tag), attributes, children)
}

export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[Tag] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag)
  return fill(element, attributes, children)
}

/** `false` and undefined omit an attribute. */
function fill<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined && value !== false)
      element.setAttribute(name, visibleLines(String(value)))
  for (const child of children) if (child !== undefined) append(element, child)
  return element
}

export function append(element: Element, child: Node | string): void {
  element.append(typeof child === "string" ? visibleLines(child) : child)
}

export function setText(element: Element, text: string): void {
  const shown = visibleLines(text)
  if (element.textContent !== shown) element.textContent = shown
}

/** Sets a text that may be cut, and a title that has all of it. */
export function setCutText(element: HTMLElement, text: string): void {
  setText(element, text)
  element.title = visibleLines(text)
}

export function setTitle(text: string): void {
  document.title = visibleLines(text)
}

/** Returns the element of index.html with this id. */
export function byId<E extends HTMLElement = HTMLElement>(id: string): E {
  return document.getElementById(id) as E
}
