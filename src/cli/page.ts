import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, delimiter, dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { clearTimeout, setTimeout } from "../base/runtime.js"
import { CaptureReader } from "../capture/index.js"
import { KeyLog } from "../capture/key-log.js"
import { withoutSecrets } from "../capture/without-secrets.js"
import { DICTIONARY, FILE_HELP, filesOf, KEYS } from "./capture-options.js"
import { type Command, command } from "./command.js"
import { readDictionary } from "./dictionary.js"
import {
  captureError,
  fileError,
  InputError,
  orInputError,
  temporaryFileError,
  UsageError,
} from "./errors.js"
import { nameOf, readStart } from "./input.js"
import { notKeyLog } from "./key-file.js"
import { printBytes, printResult } from "./output.js"
import { OutputFile } from "./output-file.js"

export const page: Command = command({
  synopsis: "page [options] FILE…",
  summary: "show a capture in a browser, or write a page that does",
  about: `Shows a capture in a browser, in a page that works offline and has the capture in it.
${FILE_HELP}`,
  options: {
    "-o, --output PAGE":
      'writes that page, with FILEs of at most 64 MiB in it, to the file PAGE, or to standard output if that is "-", and opens no browser',
    ...DICTIONARY,
    ...KEYS,
  },
  notes: "With --keys, the page has the whole FILE of keys in it.",
  async run({ output, dictionary: named, keys }, positionals) {
    const files = filesOf(positionals)
    if (output === undefined && files.includes("-"))
      throw new UsageError('"-" can be read only for -o PAGE')
    const secrets = { dictionary: dictionaryIn(named), keys: keysIn(keys) }
    if (output === undefined) await openPage(files, secrets)
    else await savePage(output, files, secrets)
  },
})

/** Maximum size of a capture in the page: a browser would need several times its size. */
const EMBEDDED_MAX_MIB = 64
const MAX = `${EMBEDDED_MAX_MIB} MiB`
/** Enough to recognise a capture. */
const HEAD_BYTES = 4096
/** Milliseconds after which a browser that has not failed has started. */
const START_MS = 2000
const NAME = "inspector.html"

/** A file and its content. */
export interface Content {
  file: string
  bytes: Uint8Array
}

/** Returns the dictionary that an option names. */
export const dictionaryIn = (file: string | undefined): Content | undefined =>
  file === undefined ? undefined : { file, bytes: readDictionary(file) }

/** Returns the key log that an option names. @throws InputError if it is none. */
export function keysIn(file: string | undefined): Content | undefined {
  if (file === undefined) return undefined
  const bytes = orInputError(
    () => readFileSync(file), // once, because it may be a pipe
    (error) => fileError(file, error),
  )
  orInputError(
    () => new KeyLog(bytes.toString("latin1")),
    (error) => notKeyLog(file, error),
  )
  return { file, bytes }
}

/** What the page gets besides a capture. */
export interface Secrets {
  dictionary: Content | undefined
  keys: Content | undefined
}

async function openPage(files: readonly string[], secrets: Secrets): Promise<void> {
  const capture = await readCapture(files)
  const page = writeTemporary(pageOf(capture, secrets))
  await printResult(`the page: ${page}`)
  if (capture.length === 0)
    await printResult(
      `${namesOf(files)}: more than ${MAX}, so it is not in the page: drop the file on it`,
    )
  if (!(await openInBrowser(pathToFileURL(page).href)))
    throw new InputError(`no browser could be started: open ${page} in one`)
}

/** Writes the page to a file, or standard output for "-". */
async function savePage(page: string, files: readonly string[], secrets: Secrets): Promise<void> {
  const inputs = [...files, ...Object.values(secrets).flatMap((secret) => secret?.file ?? [])]
  const output = page === "-" ? undefined : new OutputFile("-o", page, inputs)
  const capture = await readCapture(files)
  if (capture.length === 0)
    throw new InputError(
      `${namesOf(files)}: more than ${MAX}, too much for a page: take a part of it, or open it without -o`,
    )
  if (!output) return printBytes(pageOf(capture, secrets))
  output.write(pageOf(capture, secrets))
  await printResult(`${page}: the inspector page with ${namesOf(files)} in it`)
}

/**
 * Opens a secret address in the default browser: by a page that leads there, because other users can
 * see what programs are started with. Returns false if none could be started.
 */
export async function openRedirect(address: string): Promise<boolean> {
  const page = writeTemporary(
    `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=${address}">`,
  )
  // A browser that has started may read it later.
  process.once("exit", () => rmSync(dirname(page), { recursive: true, force: true }))
  return openInBrowser(pathToFileURL(page).href)
}

/** Opens an address in the default browser. Returns false if none could be started. */
async function openInBrowser(address: string): Promise<boolean> {
  for (const [program, ...args] of browsers())
    if (await startBrowser(program, [...args, address])) return true
  return false
}

/** Returns the page that follows a recording, which is served beside it. */
export function livePage(name: string, { dictionary, keys }: Secrets): string {
  const served = (file: string): Content => ({ file, bytes: new Uint8Array() })
  const page = pageOf([], { dictionary, keys: keys && served(keys.file) })
  return (
    embed([served(name)], "recording", page)
      // Requests to whoever serves the page, and to nobody else.
      .replace("default-src 'none';", "default-src 'none'; connect-src 'self';")
  )
}

/** Reads the files of a capture, without its passwords; none if it is too large for the page. */
async function readCapture(files: readonly string[]): Promise<Content[]> {
  const contents: Buffer[] = []
  let left = EMBEDDED_MAX_MIB << 20
  for (const file of files) {
    const bytes = await readStart(file, left + 1)
    orInputError(
      () => checkFormat(bytes.subarray(0, HEAD_BYTES)),
      (error) => captureError(nameOf(file), error) as Error,
    )
    left -= bytes.length
    if (left < 0) return []
    contents.push(bytes)
  }
  const hidden = withoutSecrets(contents)
  return files.map((file, i) => ({ file, bytes: hidden[i] as Uint8Array }))
}

/** Names the first of some files. */
const namesOf = ([first = "", ...others]: readonly string[]): string =>
  `${nameOf(first)}${others.length > 0 ? ` and ${others.length} more` : ""}`

/** @throws CaptureFormatError if this is not the beginning of a capture. */
function checkFormat(head: Uint8Array): void {
  using reader = new CaptureReader()
  reader.push(head)
  reader.end()
}

function pageOf(capture: readonly Content[], { dictionary, keys }: Secrets): string {
  const source = new URL(`../${NAME}`, import.meta.url)
  const empty = orInputError(
    () => readFileSync(source, "utf8"),
    (error) => fileError(source.pathname, error),
  )
  const withDictionary = embed(dictionary ? [dictionary] : [], "capture-dictionary", empty)
  const withKeys = embed(keys ? [keys] : [], "capture-keys", withDictionary)
  return embed(capture, "capture", withKeys)
}

/** Writes a page that only this user can read, because the capture may be private. */
function writeTemporary(html: string): string {
  return orInputError(() => {
    const path = join(mkdtempSync(join(tmpdir(), "zeromq-lz4-inspect-")), NAME)
    writeFileSync(path, html, { mode: 0o600 })
    return path
  }, temporaryFileError)
}

/**
 * Puts files into the element of the page that is reserved for them, and others beside it, with "-2" and
 * so on at the end of their ids.
 */
function embed(contents: readonly Content[], id: string, page: string): string {
  if (contents.length === 0) return page
  const [before, after] = page.split(`<script type="text/plain" id="${id}"></script>`)
  const elements = contents.map(({ file, bytes }, i) => {
    const name = escaped(basename(nameOf(file)))
    const base64 = Buffer.from(bytes).toString("base64")
    return `<script type="text/plain" id="${id}${i > 0 ? `-${i + 1}` : ""}" data-name="${name}">${base64}</script>`
  })
  return [before, ...elements, after].join("")
}

const escaped = (text: string): string => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`)

/** Returns command lines that open a page, to be tried in turn. */
function browsers(): [program: string, ...args: string[]][] {
  const { BROWSER = "" } = process.env
  const lines = BROWSER.split(delimiter).map((line) => line.trim())
  const wanted = lines.filter((line) => line !== "")
  if (wanted.length > 0) return wanted.map((line) => line.split(/\s+/) as [string])
  if (process.platform === "darwin") return [["open"]]
  // The empty argument is a title: `start` takes its first quoted argument as one.
  if (process.platform === "win32") return [["cmd", "/c", "start", '""']]
  return [["xdg-open"]]
}

function startBrowser(program: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: "ignore", detached: true })
    const timer = setTimeout(() => end(true), START_MS)
    const end = (hasStarted: boolean) => {
      clearTimeout(timer)
      child.unref()
      resolve(hasStarted)
    }
    child.on("error", () => end(false))
    child.on("exit", (code) => end(code === 0))
  })
}
