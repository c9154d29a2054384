/** Creates elements from text only, so that nothing in a capture is ever parsed as HTML. */

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
    if (value !== undefined && value !== false) element.setAttribute(name, String(value))
  element.append(...children.filter((child) => child !== undefined))
  return element
}

/** Returns the element of index.html with this id. */
export function byId<E extends HTMLElement = HTMLElement>(id: string): E {
  return document.getElementById(id) as E
}
