import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, delimiter, join } from "node:path"
import { pathToFileURL } from "node:url"
import { CaptureReader } from "../capture/index.js"
import { withoutSecrets } from "../capture/without-secrets.js"
import { clearTimeout, setTimeout } from "../codec/runtime.js"
import { captureError, fileError, InputError } from "./errors.js"
import { nameOf, readStart } from "./input.js"
import { printResult } from "./output.js"
import { OutputFile } from "./output-file.js"

/** Maximum size of a capture in the page: a browser would need several times its size. */
const EMBEDDED_MAX_BYTES = 64 << 20
const MAX = `${EMBEDDED_MAX_BYTES >> 20} MiB`
/** Bytes that are enough to recognise a capture. */
const HEAD_BYTES = 4096
/** Milliseconds after which a browser that has not failed has started. */
const START_MS = 2000
const NAME = "inspector.html"

/** A file and its content. */
export interface Content {
  file: string
  bytes: Uint8Array
}

/** Opens a capture in the inspector page, in the default browser. */
export async function openPage(file: string, dictionary: Content | undefined): Promise<void> {
  const capture = await readCapture(file)
  const page = writeTemporary(pageOf(capture, dictionary))
  await printResult(`the page: ${page}`)
  if (!capture)
    await printResult(`${file} has more than ${MAX}, so it is not in the page: drop the file on it`)
  for (const [program, ...args] of browsers())
    if (await startBrowser(program, [...args, pathToFileURL(page).href])) return
  throw new InputError(`no browser could be started: open ${page} in one`)
}

/** Writes the inspector page with a capture in it to a file. */
export async function savePage(
  page: string,
  file: string,
  dictionary: Content | undefined,
): Promise<void> {
  const output = new OutputFile("--html", page, dictionary ? [file, dictionary.file] : [file])
  const capture = await readCapture(file)
  if (!capture)
    throw new InputError(
      `${nameOf(file)}: has more than ${MAX}, too much for a page: take a part of it, or use --open`,
    )
  output.write(pageOf(capture, dictionary))
  await printResult(`${page}: the inspector page with ${nameOf(file)} in it`)
}

/** Reads a capture without its passwords; undefined if it is too large for the page. */
async function readCapture(file: string): Promise<Content | undefined> {
  const bytes = await readStart(file, EMBEDDED_MAX_BYTES + 1)
  checkFormat(nameOf(file), bytes.subarray(0, HEAD_BYTES))
  if (bytes.length > EMBEDDED_MAX_BYTES) return undefined
  return { file, bytes: withoutSecrets(bytes) }
}

function checkFormat(name: string, head: Uint8Array): void {
  const reader = new CaptureReader()
  try {
    reader.push(head)
    reader.end()
  } catch (error) {
    throw captureError(name, error)
  } finally {
    reader.close()
  }
}

function pageOf(capture: Content | undefined, dictionary: Content | undefined): string {
  const source = new URL(`../${NAME}`, import.meta.url)
  try {
    const empty = readFileSync(source, "utf8")
    return embed(capture, "capture", embed(dictionary, "capture-dictionary", empty))
  } catch (error) {
    throw fileError(source.pathname, error)
  }
}

/** Writes a page that only this user can read, because the capture may be private. */
function writeTemporary(html: string): string {
  try {
    const path = join(mkdtempSync(join(tmpdir(), "zeromq-lz4-inspect-")), NAME)
    writeFileSync(path, html, { mode: 0o600 })
    return path
  } catch (error) {
    throw fileError((error as NodeJS.ErrnoException).path ?? tmpdir(), error)
  }
}

/** Puts a file into the element of the page that is reserved for it. */
function embed(content: Content | undefined, id: string, page: string): string {
  if (!content) return page
  const [before, after] = page.split(`id="${id}"></script>`) as [string, string]
  const name = escaped(basename(nameOf(content.file)))
  const base64 = Buffer.from(content.bytes).toString("base64")
  return `${before}id="${id}" data-name="${name}">${base64}</script>${after}`
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
    function end(started: boolean): void {
      clearTimeout(timer)
      child.unref()
      resolve(started)
    }
    child.on("error", () => end(false))
    child.on("exit", (code) => end(code === 0))
  })
}
