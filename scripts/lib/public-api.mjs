/** Reads what the package exports, with its TSDoc, from the declarations in dist/: what an editor shows. */
import { createRequire } from "node:module"
import { join } from "node:path"
import { entries } from "./entries.mjs"
import * as paths from "./paths.mjs"

/** @import { Node, Symbol, SignatureDeclaration } from "../../node_modules/@microsoft/api-extractor/node_modules/typescript/lib/typescript.js" */

const require = createRequire(import.meta.url)

/**
 * The compiler of API Extractor: TypeScript 7 has no stable API.
 * @type {typeof import("../../node_modules/@microsoft/api-extractor/node_modules/typescript/lib/typescript.js")}
 */
const ts = createRequire(require.resolve("@microsoft/api-extractor"))("typescript")

export const KINDS = /** @type {const} */ (["classes", "functions", "values", "types"])

/**
 * @typedef {object} Comment  a TSDoc comment
 * @property {string} text
 * @property {{ tag: string, name: string, text: string }[]} tags  `name` is that of a parameter
 *
 * @typedef {object} Member  a function, or a member of a class, an interface or the type of an object
 * @property {string} name
 * @property {"property" | "static property" | "method" | "static method" | "constructor"} kind
 * @property {string} signature  without the keywords in front
 * @property {{ name: string, type: string }[]} parameters  "?" follows the name of an optional one
 * @property {string} type  of the property, or what is returned
 * @property {Comment} comment
 *
 * @typedef {object} Declaration
 * @property {string} signature
 * @property {string} parents  the clause of what it extends
 * @property {Comment} comment
 * @property {Member[]} members
 * @property {Member | undefined} callable  for a function
 *
 * @typedef {object} Export
 * @property {string} name
 * @property {typeof KINDS[number]} kind
 * @property {Declaration[]} declarations  two if a class and its type have the name
 * @property {string} source  the text of the declarations and their comments
 *
 * @typedef {object} Entry
 * @property {string} name
 * @property {string} text
 * @property {Export[]} exports
 * @property {string[]} unchanged  names of zeromq.js that are re-exported, and have no text of their own
 */

/** Returns the entry points with their exports, in the order of the document. @returns {Entry[]} */
export function publicApi() {
  const files = entries.map(({ module }) => join(paths.dist, `${module}.d.cts`))
  const program = ts.createProgram(files, {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2022.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts"],
    types: ["node"],
  })
  const checker = program.getTypeChecker()

  return entries.map(({ name }, i) => {
    const file = program.getSourceFile(/** @type {string} */ (files[i]))
    const module = file && checker.getSymbolAtLocation(file)
    if (!file || !module) throw new Error(`${files[i]} is missing: npm run build`)
    const all = checker.getExportsOfModule(module).map((symbol) => exported(symbol, name))
    const isUnchanged = (/** @type {Export} */ { source }) => source === ""
    return {
      name,
      text: firstComment(file.text),
      exports: all.filter((one) => !isUnchanged(one)).sort(inOrder),
      unchanged: all
        .filter(isUnchanged)
        .sort(inOrder)
        .map(({ name }) => name),
    }
  })

  /** @param {Symbol} symbol @param {string} entry @returns {Export} */
  function exported(symbol, entry) {
    const { name } = symbol
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
    const own = (target.declarations ?? []).filter(
      (node) => node.getSourceFile().fileName.startsWith(paths.dist) && !isAlias(node, name),
    )
    const type = checker.getTypeOfSymbol(target)
    const kind =
      type.getConstructSignatures().length > 0
        ? "classes"
        : type.getCallSignatures().length > 0
          ? "functions"
          : target.flags & ts.SymbolFlags.Value
            ? "values"
            : "types"
    const declarations = own.map((node) =>
      ts.isSourceFile(node)
        ? // export * as default
          {
            ...declaration(/** @type {Node} */ (symbol.declarations?.[0]), name),
            signature: `default: typeof import("${entry}")`,
          }
        : declaration(node, name),
    )
    return { name, kind, declarations, source: own.map(source).join("\n") }
  }
}

/** Compares kinds, then names like the alphabet, the same everywhere. @param {Export} a @param {Export} b */
function inOrder(a, b) {
  const [x, y] = [a, b].map(({ kind, name }) => [KINDS.indexOf(kind), name.toLowerCase(), name])
  return `${x}` < `${y}` ? -1 : 1
}

/** Whether it has the type of the same name of zeromq.js, and no text. @param {Node} node @param {string} name */
const isAlias = (node, name) =>
  ts.isVariableDeclaration(node) &&
  commentOf(node).text === "" &&
  /^typeof \w+\.(\w+)$/.exec(node.type?.getText() ?? "")?.[1] === name

/** @param {Node} node */
const source = (node) => node.getFullText()

/** @param {{ typeParameters?: readonly Node[] | undefined }} node */
const typeParameters = ({ typeParameters: all }) => (all ? `<${all.map(oneLine).join(", ")}>` : "")

/** API Extractor renames what is called like a global: Proxy_2. @param {string} text */
const original = (text) => text.replaceAll(/\b([A-Z]\w*)_2\b/g, "$1")

/** @param {Node} node */
const oneLine = (node) => original(node.getText()).replaceAll(/\s+/g, " ")

/** Returns the comment at the top of a file. @param {string} text */
const firstComment = (text) =>
  (/^\/\*\*(.*?)\*\//s.exec(text)?.[1] ?? "")
    .replaceAll(/^ *\* ?/gm, "")
    .replace("@packageDocumentation", "")
    .trim()

/** @param {Node} node @returns {Comment} */
function commentOf(node) {
  const owner = ts.isNamespaceExport(node) ? node.parent : node
  const comment = ts.getJSDocCommentsAndTags(owner).filter(ts.isJSDoc).at(-1)
  return {
    text: ts.getTextOfJSDocComment(comment?.comment) ?? "",
    tags: (comment?.tags ?? []).map((tag) => ({
      tag: tag.tagName.text,
      name: ts.isJSDocParameterTag(tag) ? tag.name.getText() : "",
      text: (ts.getTextOfJSDocComment(tag.comment) ?? "").replace(/^- /, ""),
    })),
  }
}

/** @param {Node} node @param {string} name @returns {Declaration} */
function declaration(node, name) {
  const shared = { parents: "", comment: commentOf(node), members: membersOf(node) }
  if (ts.isFunctionDeclaration(node)) {
    const callable = member(node, name)
    return { ...shared, signature: `function ${callable.signature}`, callable }
  }
  if (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node)) {
    const keyword = ts.isClassDeclaration(node) ? "class" : "interface"
    const clauses = (node.heritageClauses ?? []).map(oneLine)
    const parents = clauses.find((clause) => clause.startsWith("extends ")) ?? ""
    const signature = [`${keyword} ${name}${typeParameters(node)}`, ...clauses].join(" ")
    return { ...shared, parents, signature, callable: undefined }
  }
  const withComments = shared.members.length === 0
  const text = original(withComments ? node.getText() : withoutComments(node))
    .replace(/^(export )?(declare )?/, "")
    .replace(/;$/, "")
    .replaceAll(/ +$/gm, "")
  const isUnion = ts.isTypeAliasDeclaration(node) && ts.isUnionTypeNode(node.type)
  const signature =
    name === "default"
      ? text.replace(/^\w+/, name)
      : ts.isVariableDeclaration(node)
        ? `const ${text}`
        : isUnion && text.length > 100 && !text.includes("\n")
          ? wrapped(text)
          : text
  return { ...shared, signature, callable: undefined }
}

/** @param {Node} node */
const withoutComments = (node) =>
  ts
    .createPrinter({ removeComments: true, newLine: ts.NewLineKind.LineFeed })
    .printNode(ts.EmitHint.Unspecified, node, node.getSourceFile())

/** Breaks a long union of types into lines. @param {string} text */
function wrapped(text) {
  const [name, ...types] = text.split(/ = | \| /)
  const lines = [`${name} =`, " "]
  for (const type of types) {
    if (`${lines.at(-1)} | ${type}`.length > 100) lines.push(" ")
    lines[lines.length - 1] += ` | ${type}`
  }
  return lines.join("\n")
}

/** Returns the public members of a class, an interface, or the type of an object. @param {Node} node */
function membersOf(node) {
  const typed = ts.isVariableDeclaration(node) || ts.isTypeAliasDeclaration(node)
  const object = typed ? node.type : node
  if (!object) return []
  if (
    !ts.isClassLike(object) &&
    !ts.isInterfaceDeclaration(object) &&
    !ts.isTypeLiteralNode(object)
  )
    return []
  return /** @type {Node[]} */ ([...object.members])
    .filter(
      (node) =>
        !ts.canHaveModifiers(node) ||
        !ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword),
    )
    .map((node) => member(node, undefined))
}

/** @param {Node} node @param {string | undefined} known @returns {Member} */
function member(node, known) {
  const declared = /** @type {SignatureDeclaration} */ (node)
  const name = known ?? declared.name?.getText() ?? "new"
  const isStatic =
    ts.canHaveModifiers(node) &&
    !!ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword)
  const isProperty =
    ts.isPropertySignature(node) || ts.isPropertyDeclaration(node) || ts.isGetAccessor(node)
  const optional = "questionToken" in node && node.questionToken ? "?" : ""
  const type = declared.type ? oneLine(declared.type) : ""
  const comment = commentOf(node)
  if (isProperty) {
    const ownType = type || original(declared.getText()).replace(/^.*? = (.*);$/, "$1")
    return {
      ...{ name: name + optional, comment, type: ownType, parameters: [], signature: "" },
      kind: isStatic ? "static property" : "property",
    }
  }
  const parameters = declared.parameters.map((one) => ({
    name: (one.dotDotDotToken ? "..." : "") + one.name.getText() + (one.questionToken ? "?" : ""),
    type: one.type ? oneLine(one.type) : "",
  }))
  const types = typeParameters(declared)
  const list = parameters.map(({ name, type }) => `${name}: ${type}`)
  const isConstructor =
    ts.isConstructorDeclaration(node) || ts.isConstructSignatureDeclaration(node)
  const returned = type && `: ${type}`
  const short = `${name}${types}(${list.join(", ")})${returned}`
  return {
    ...{ name, comment, type, parameters },
    kind: isConstructor ? "constructor" : isStatic ? "static method" : "method",
    signature:
      short.length <= 100
        ? short
        : `${name}${types}(\n${list.map((one) => `  ${one},\n`).join("")})${returned}`,
  }
}
