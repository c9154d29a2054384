/** Writes the reference of the package, docs/api.md, from its declarations. */
import { join } from "node:path"
import * as paths from "./paths.mjs"
import { KINDS, publicApi } from "./public-api.mjs"

/** @typedef {import("./public-api.mjs").Export} Export */
/** @typedef {import("./public-api.mjs").Member} Member */
/** @typedef {import("./public-api.mjs").Comment} Comment */

export const API_DOCUMENT = join(paths.root, "docs/api.md")

const HEAD = `<!-- Written by node scripts/api.mjs, from the comments in src/ -->

# Reference

All names that the package exports. The texts are those that an editor shows. Sockets have the methods and options of
[zeromq.js](https://github.com/zeromq/zeromq.js) as well, and [README](../README.md) describes how to use both.`

/** Returns the text of docs/api.md. */
export function apiDocument() {
  const anchors = new Anchors()
  /** Anchors of the exports so far, by their source. @type {Map<string, string>} */
  const known = new Map()
  /** Those of the first entry point, to which others refer: Lz4Class. @type {Links | undefined} */
  let main
  const sections = publicApi().map((entry) => {
    const anchor = anchors.add(entry.name)
    const isKnown = (/** @type {Export} */ { source }) => known.has(source)
    const same = namesOf(entry.exports.filter(isKnown))
    const own = entry.exports.filter((one) => !isKnown(one))
    for (const { name, source } of own) known.set(source, anchors.add(name))
    /** @type {Links} */
    const links = new Map([
      ...(main ?? []),
      ...entry.exports.map(({ name, source }) => /** @type {const} */ ([name, known.get(source)])),
    ])
    main ??= links
    return { ...entry, anchor, same, own, links }
  })
  const contents = sections.map(({ name, anchor, exports, links }) =>
    [
      `- [\`${name}\`](#${anchor})`,
      ...KINDS.flatMap((kind) => {
        const names = namesOf(exports.filter((one) => one.kind === kind))
        return names.length > 0 ? `  - ${kind}: ${listed(names, links)}` : []
      }),
    ].join("\n"),
  )
  const texts = sections.map(({ name, text, own, same, unchanged, links }) =>
    joined([
      `## \`${name}\``,
      markup(text, links),
      same.length > 0 && `The same as above: ${listed(same, links)}.`,
      unchanged.length > 0 &&
        `Re-exported from zeromq.js, unchanged: ${unchanged.map((name) => `\`${name}\``).join(", ")}.`,
      ...own.map((one) => entry(one, links)),
    ]),
  )
  return `${joined([HEAD, contents.join("\n"), ...texts])}\n`
}

/** The anchors of the names that the texts of an entry point refer to. @typedef {Map<string, string | undefined>} Links */

/** Anchors of headings, as GitHub makes them. */
class Anchors {
  /** @type {Map<string, number>} */
  #counts = new Map()

  /** @param {string} heading */
  add(heading) {
    const anchor = heading
      .toLowerCase()
      .replaceAll(/[^\w -]/g, "")
      .replaceAll(" ", "-")
    const count = this.#counts.get(anchor) ?? 0
    this.#counts.set(anchor, count + 1)
    return count > 0 ? `${anchor}-${count}` : anchor
  }
}

/** @param {{ name: string }[]} named */
const namesOf = (named) => named.map(({ name }) => name)

/** @param {string} name @param {Links} links */
const linked = (name, links) => `[\`${name}\`](#${links.get(name)})`

/** @param {string[]} names @param {Links} links */
const listed = (names, links) => names.map((name) => linked(name, links)).join(", ")

/** Writes an export. @param {Export} exported @param {Links} links */
function entry({ name, declarations }, links) {
  const texts = declarations.map(({ comment }) => markup(comment.text, links))
  const signatures = declarations.map(({ signature }) => signature).join("\n")
  return joined([
    `### \`${name}\``,
    ...new Set(texts),
    code(signatures),
    ...declarations.flatMap(({ parents, members, callable, comment }) => [
      ...details(callable, comment, links),
      parentsOf(parents, links),
      members
        .filter(({ kind }) => kind.endsWith("property"))
        .map((one) => property(name, one, links))
        .join("\n"),
      ...members
        .filter(({ kind }) => !kind.endsWith("property"))
        .map((one) => method(name, one, links)),
    ]),
    declarations.every(({ members, callable }) => !callable && members.length === 0) &&
      seeAlso(name, signatures, links),
  ])
}

/** Joins paragraphs. @param {(string | false)[]} paragraphs */
const joined = (paragraphs) => paragraphs.filter(Boolean).join("\n\n")

/** @param {string} signature */
const code = (signature) => `\`\`\`ts\n${signature}\n\`\`\``

/** Names the exported types whose members a type inherits. @param {string} parents @param {Links} links */
function parentsOf(parents, links) {
  const names = (parents.match(/(?<=extends |, |Omit<)\w+/g) ?? []).filter((name) =>
    links.has(name),
  )
  return names.length > 0 && `Has the members of ${listed(names, links)}, and:`
}

/** Names the exported types that a signature refers to. @param {string} name @param {string} signature @param {Links} links */
function seeAlso(name, signature, links) {
  const names = new Set(signature.match(NAME)?.filter((one) => one !== name && links.has(one)))
  return names.size > 0 && `See ${listed([...names], links)}.`
}

/** @param {string} owner @param {Member} member @param {Links} links */
function property(owner, { name, kind, type, comment }, links) {
  const known = kind === "static property" ? `${owner}.${name}` : name
  const text = joined([markup(comment.text, links), ...details(undefined, comment, links)])
  return item(`\`${known}\` (${typeMarkup(type, links)}): ${text}`)
}

/** @param {string} text */
const item = (text) => `- ${text.replaceAll(/\n(?=.)/g, "\n  ")}`

/** @param {string} owner @param {Member} member @param {Links} links */
function method(owner, { name, kind, signature, parameters, comment, type }, links) {
  const instance = owner[0]?.toLowerCase() + owner.slice(1)
  const object = kind === "static method" ? owner : instance
  const call =
    kind === "constructor" ? `new ${owner}` : object + (name.startsWith("[") ? name : `.${name}`)
  const args = parameters.map(({ name }) => name).join(", ")
  return joined([
    `#### \`${call}(${args})\``,
    markup(comment.text, links),
    code(
      kind === "constructor"
        ? signature.replace("new", `new ${owner}`)
        : kind === "static method"
          ? `static ${signature}`
          : signature,
    ),
    ...details({ parameters, type }, comment, links),
  ])
}

/**
 * Writes the tags of a comment: a list of parameters, of what is returned and of what is thrown; then examples.
 * @param {Pick<Member, "parameters" | "type"> | undefined} callable
 * @param {Comment} comment
 * @param {Links} links
 */
function details(callable, { tags }, links) {
  const textsOf = (/** @type {string} */ wanted) =>
    tags.filter(({ tag }) => tag === wanted).map(({ text }) => markup(text, links))
  /** What has neither a text nor an exported type is not listed: the signature shows it. */
  const about = (/** @type {string} */ name, /** @type {string} */ type, text = "") => {
    const words = [name, refersTo(type, links) && typeMarkup(type, links)].filter(Boolean).join(" ")
    return text ? `${words}: ${text}` : words === name ? "" : words
  }
  const list = [
    ...(callable?.parameters ?? []).map(({ name, type }) => {
      const plain = name.replace("?", "")
      const tag = tags.find((one) => one.tag === "param" && one.name === plain)
      return about(`\`${plain}\``, type, tag && markup(tag.text, links))
    }),
    about("Returns", callable?.type ?? "", textsOf("returns")[0]),
    ...textsOf("throws").map((text) => `Throws ${text}`),
  ]
  return [
    ...textsOf("deprecated").map((text) => `**Deprecated.** ${text}`),
    list.filter(Boolean).map(item).join("\n"),
    ...tags.filter(({ tag }) => tag === "example").map(({ text }) => text),
  ]
}

const NAME = /(?<![.\w"])[A-Z]\w*\b(?!")/g

/** @param {string} type @param {Links} links */
const refersTo = (type, links) => (type.match(NAME) ?? []).some((name) => links.has(name))

/** Writes a type, with links to the exported types in it. @param {string} type @param {Links} links */
function typeMarkup(type, links) {
  if (links.has(type)) return linked(type, links)
  if (!refersTo(type, links)) return `\`${type}\``
  const escaped = type.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
  const text = escaped.replaceAll(NAME, (name) =>
    links.has(name) ? `[${name}](#${links.get(name)})` : name,
  )
  return `<code>${text}</code>`
}

/** Writes the text of a comment: links to names and documents become those of Markdown. @param {string} text @param {Links} links */
function markup(text, links) {
  return text
    .replaceAll(/\{@link ([\w.]+)(?: ?\| ?([^}]*))?\}/g, (_, name, shown) => {
      const anchor = links.get(name.split(".")[0])
      if (!anchor) throw new Error(`{@link ${name}} refers to nothing that is exported beside it`)
      return `[\`${shown ?? name}\`](#${anchor})`
    })
    .replaceAll(/\bdocs\/([\w-]+\.md)/g, "[docs/$1]($1)")
    .replaceAll(/(?<![\w/])(RFC|SECURITY)\.md/g, "[$&](../$&)")
}
