/** The page: accepts a capture, passes it to the worker and shows the results. */
import workerSource from "inspector-worker"
import { filterHelp } from "../capture/filter/filter.js"
import { KeyLog } from "../capture/key-log.js"
import { refusedText, unreadText } from "../capture/summary.js"
import { DICTIONARY_MAX_BYTES } from "../codec/wire.js"
import {
  canFollow,
  chooseGrowing,
  embeddedFiles,
  isKeyLog,
  listenForDrops,
  servedFile,
} from "./captures.js"
import { Client } from "./client.js"
import { ConnectionList } from "./connections.js"
import { DetailPane, type Look } from "./details.js"
import { byId, setCutText, setText, setTitle } from "./dom.js"
import { bytes, count, duration, plural, ratio } from "./format.js"
import { Overview } from "./overview.js"
import { listenForPastes } from "./paste.js"
import type { Followed, GivenKeys, Saved, State } from "./protocol.js"
import { listenForReports } from "./reports.js"
import sample from "./sample.pcap"
import { listenForResizing } from "./splitter.js"
import { Table } from "./table.js"

/** While an arrow key is held, only the row where it stops is read from the file. */
const OPEN_MILLISECONDS = 60
const FILTER_MILLISECONDS = 80

byId("inert").remove()

const client = new Client(workerSource, show, (reason) => {
  document.body.dataset.phase = "failed"
  setText(
    byId("failure"),
    `The worker has stopped: ${reason}. Load the page again, or save it and open it from disk.`,
  )
})
const filterBox = byId<HTMLInputElement>("filter")
const overview = new Overview()

let files: readonly File[] | Followed = []
/** Counts the captures, to ignore reports about an earlier one. */
let captures = 0
let dictionary: { name: string; bytes: Uint8Array } | undefined
let keys: GivenKeys | undefined
let state: State | undefined
/** Whether the detail pane is open, or will be. */
let detailsOpen = false

const connections = new ConnectionList(byId("connections"), (id) =>
  setFilter(id === undefined ? "" : `connection=${id}`),
)

const table = new Table(
  byId("table"),
  byId("names"),
  byId("spacer"),
  byId("rows"),
  byId("latest"),
  {
    fetch: (view, from, count) => client.call("rows", view, from, count),
    place: (view, row) => client.call("place", view, row),
    onSelect: () => detailsOpen && openSoon(),
    onOpen: openDetails,
    onSort: (sorting) => void client.call("sort", sorting),
  },
)

const details = new DetailPane(byId("title"), byId("facts"), byId("parts"), {
  bytes: (...args) => client.call("bytes", ...args),
  json: (...args) => client.call("json", ...args),
  download: async (part, which, name) => save(await client.call("download", part, which), name),
})

/** Opens a capture; several files are read as one. */
function open(capture: readonly File[] | Followed): void {
  // The first capture is shown as the address of the page says.
  filterBox.value = captures > 0 ? "" : filterOfAddress()
  writeAddress()
  files = capture
  state = undefined
  table.showSorting(undefined)
  closeDetails()
  setCutText(byId("name"), nameOf(files))
  setTitle(`${nameOf(files)} – zeromq-lz4 inspector`)
  document.body.dataset.phase = "id" in capture ? "live" : "reading"
  void client.open(++captures, capture, { dictionary: dictionary?.bytes, keys }, filterBox.value)
  table.focusUnmarked()
}

function nameOf(capture: readonly File[] | Followed): string {
  if ("id" in capture) return capture.name
  const [first, ...others] = capture
  return `${first?.name}${others.length > 0 ? ` and ${count(others.length)} more` : ""}`
}

function show(newest: State): void {
  if (newest.capture !== captures) return
  state = newest
  const { phase, view, charts } = newest
  document.body.dataset.phase = phase
  setText(byId("failure"), newest.failure ?? "")
  setText(byId("summary"), summaryOf(newest))
  byId("summary").title = others(newest).join("\n")
  setText(byId("live"), liveOf(newest))
  byId("live").title = newest.ending ?? ""
  setText(byId("cancel"), phase === "live" ? "Stop" : "Cancel")
  setText(byId("progress-text"), progressOf(newest))
  // Screen readers do not announce the numbers of a recording in progress, which change all the time.
  for (const id of ["progress-text", "matches"])
    byId(id).ariaLive = phase === "live" ? "off" : "polite"
  byId<HTMLProgressElement>("progress").value = newest.bytes ? newest.bytesRead / newest.bytes : 1
  setText(byId("matches"), matchesOf(newest))
  setText(byId("mistake"), view.mistake ?? "")
  filterBox.setAttribute("aria-invalid", String(view.mistake !== undefined))
  byId("none").hidden = view.rows > 0 || view.filtering || /reading|live|failed/.test(phase)
  setText(byId("none"), newest.rows ? "No row matches the filter." : nothing(newest))
  connections.show(newest.connections, newest.connectionCount, chosenConnection(view.filter))
  table.show(view, newest.followed)
  if (charts) overview.show(charts)
}

const NOTHING =
  "There is no ZeroMQ connection in this capture. It finds them by their greeting, or by their frames where the beginning is missing."

const nothing = (state: State): string => [NOTHING, ...others(state)].join(" ")

/** Says what is not among the connections. */
const others = ({ refused, unread }: State): string[] =>
  [refusedText(refused), unreadText(unread)]
    .filter(Boolean)
    .map((text) => `${text[0]!.toUpperCase()}${text.slice(1)}.`)

const sum = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((sum, number) => sum + number, 0)

function summaryOf(state: State): string {
  const { phase, connectionCount, messages, plainBytes, wireBytes, errors } = state
  const [refused, unread] = [sum(state.refused), sum(state.unread)]
  if (phase === "failed" && connectionCount === 0) return ""
  return [
    plural(connectionCount, "connection"),
    plural(messages, "message"),
    `${bytes(plainBytes)} in ${bytes(wireBytes)}`,
    ratio(plainBytes, wireBytes),
    ...(errors ? [plural(errors, "error")] : []),
    ...(refused ? [`${count(refused)} refused`] : []),
    ...(unread ? [`${plural(unread, "packet")} not read`] : []),
  ].join(" · ")
}

/** Says whether a recording in progress goes on. */
function liveOf({ phase, followed, ending }: State): string {
  if (!followed) return ""
  return phase === "live" ? "Live" : `Ended${ending === undefined ? "" : `: ${ending}`}`
}

function progressOf({ phase, bytes: size, bytesRead, messages, milliseconds }: State): string {
  const percent = size ? Math.floor((100 * bytesRead) / size) : 100
  switch (phase) {
    case "live":
      return bytesRead < size ? `${bytes(bytesRead)} of ${bytes(size)}` : bytes(size)
    case "reading":
      return `${percent} % · ${bytes(bytesRead)} of ${bytes(size)} · ${plural(messages, "message")}`
    case "cancelled":
      return `Cancelled at ${percent} %: ${bytes(bytesRead)} of ${bytes(size)} were read`
    case "failed":
      return `Stopped at ${percent} %`
    default:
      return `${bytes(size)} in ${duration(Math.round(milliseconds) * 1e6)}`
  }
}

function matchesOf({ view, rows, bytesRead }: State): string {
  if (view.filter.trim() === "") return plural(rows, "row")
  const searched = view.searchedBytes === undefined ? undefined : view.searchedBytes / bytesRead
  const more = searched === undefined ? " …" : `, ${Math.floor(100 * searched)} % searched`
  return `${count(view.rows)} of ${plural(rows, "row")}${view.filtering ? more : ""}`
}

/** Returns the connection of a filter that only chooses a connection. */
function chosenConnection(filter: string): number | undefined {
  const id = /^\s*connection=(\d+)\s*$/.exec(filter)?.[1]
  return id === undefined ? undefined : Number(id)
}

// Filter

let filterTimer = 0

function setFilter(text: string): void {
  filterBox.value = text
  writeAddress()
  if (captures > 0) void client.call("filter", text)
}

// The address of the page has the filter, so that a link can have one.
const PREFIX = "#filter="

function filterOfAddress(): string {
  const { hash } = location
  try {
    return hash.startsWith(PREFIX) ? decodeURIComponent(hash.slice(PREFIX.length)) : ""
  } catch {
    // It was cut in the middle of a character, for example.
    return ""
  }
}

function writeAddress(): void {
  const text = filterBox.value
  history.replaceState(null, "", text ? PREFIX + encodeURIComponent(text) : "#")
}

window.addEventListener("hashchange", () => setFilter(filterOfAddress()))

filterBox.addEventListener("input", () => {
  window.clearTimeout(filterTimer)
  filterTimer = window.setTimeout(() => setFilter(filterBox.value), FILTER_MILLISECONDS)
})
filterBox.addEventListener("keydown", ({ key }) => {
  if (key === "Escape" && filterBox.value) setFilter("")
  else if (key === "Escape" || key === "Enter" || key === "ArrowDown") table.focus()
})
setText(byId("filter-help"), filterHelp)

// The rows that match

const COPY_MAX_BYTES = 16 << 20

async function saveRows(form: Saved, extension: string): Promise<void> {
  // Another capture may be open when these are ready.
  const name = `${"id" in files ? files.name : files[0]?.name}.${extension}`
  save(await client.call("save", form), name)
}

async function copyRows(): Promise<void> {
  const content = client.call("save", "json").then((content) => {
    if (content.size > COPY_MAX_BYTES)
      throw new Error(
        `These rows have ${bytes(content.size)} as JSON, too much to copy: save them.`,
      )
    return content.slice(0, content.size, "text/plain")
  })
  // Before the rows are there: WebKit only lets a page write in the click itself.
  const written = navigator.clipboard.write([new ClipboardItem({ "text/plain": content })])
  await Promise.all([content, written])
}

/** Does what a button says, and shows what goes wrong. */
function onClick(id: string, work: () => Promise<void>): void {
  byId(id).addEventListener("click", async () => {
    setText(byId("saving-mistake"), "")
    await work().catch((error: Error) => setText(byId("saving-mistake"), error.message))
  })
}
onClick("copy", copyRows)
onClick("save-json", () => saveRows("json", "jsonl"))
onClick("save-bodies", () => saveRows("bodies", "bodies"))

// Details

let openTimer = 0

function openDetails(): void {
  detailsOpen = true
  byId("details").hidden = false
  byId("splitter").hidden = false
  openSoon()
  // The height has changed, and the row must stay visible.
  requestAnimationFrame(() => table.reveal())
}

/** Counts the rows opened, to ignore an answer that arrives after a later one. */
let openings = 0

function openSoon(): void {
  window.clearTimeout(openTimer)
  openTimer = window.setTimeout(async () => {
    if (!state || table.selected < 0) return
    const opening = ++openings
    const { origin, view } = state
    try {
      const shown = await client.call("details", view.number, table.selected)
      if (opening === openings) details.show(shown, origin)
    } catch (error) {
      if (opening === openings) details.fail((error as Error).message)
    }
  }, OPEN_MILLISECONDS)
}

function closeDetails(): void {
  detailsOpen = false
  byId("details").hidden = true
  byId("splitter").hidden = true
}

function save(content: Blob, name: string): void {
  const url = URL.createObjectURL(content)
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}

for (const input of document.querySelectorAll<HTMLInputElement>("[name=look]"))
  input.addEventListener("change", () => details.look(input.value as Look))
byId("close").addEventListener("click", () => {
  closeDetails()
  table.focus()
})
listenForResizing(byId("splitter"), byId("details"))

// Captures and dictionaries

for (const input of document.querySelectorAll<HTMLInputElement>(".open-capture"))
  input.addEventListener("change", () => {
    const chosen = [...(input.files ?? [])]
    if (chosen.length > 0) open(chosen)
    // So that the same file can be chosen again.
    input.value = ""
  })
for (const button of document.querySelectorAll(".load-sample"))
  button.addEventListener("click", () => open([new File([sample], "sample.pcap")]))
byId("cancel").addEventListener("click", () => client.call("cancel"))
listenForDrops(document.body, (dropped) => void openDropped(dropped))

/** Opens the captures among files, and uses a key log that is one of them. */
async function openDropped(dropped: readonly File[]): Promise<void> {
  const areLogs = await Promise.all(dropped.map(isKeyLog))
  const captured = dropped.filter((_, i) => !areLogs[i])
  const log = dropped.find((_, i) => areLogs[i])
  if (log) await readKeys(log)
  if (captured.length > 0) open(captured)
}

/** Counts the recordings in progress that were opened. */
let recordings = 0

for (const button of document.querySelectorAll<HTMLButtonElement>(".follow")) {
  button.hidden = !canFollow
  button.addEventListener("click", async () => {
    setText(byId("follow-mistake"), "")
    try {
      const handle = await chooseGrowing()
      if (handle) open({ id: ++recordings, name: handle.name, handle })
    } catch (error) {
      setText(byId("follow-mistake"), (error as Error).message)
    }
  })
}

/** Reads a file that is chosen with an input, which may choose the same one again. */
function listenForFile(id: string, read: (file: File) => Promise<void>): void {
  const input = byId<HTMLInputElement>(id)
  input.addEventListener("change", () => {
    const [chosen] = input.files ?? []
    input.value = ""
    if (chosen) void read(chosen)
  })
}

listenForFile("dictionary", readDictionary)
byId("no-dictionary").addEventListener("click", () => setDictionary(undefined))

async function readDictionary(file: File): Promise<void> {
  const fits = file.size >= 1 && file.size <= DICTIONARY_MAX_BYTES
  const mistake = `${file.name} has ${plural(file.size, "byte")}; a dictionary has 1 to ${count(DICTIONARY_MAX_BYTES)}.`
  setText(byId("dictionary-mistake"), fits ? "" : mistake)
  if (fits) setDictionary({ name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) })
}

/** Uses another dictionary, with which the open capture is read again. */
function setDictionary(given: typeof dictionary): void {
  dictionary = given
  setCutText(
    byId("dictionary-name"),
    given ? `${given.name}, ${bytes(given.bytes.length)}` : "none",
  )
  byId("no-dictionary").hidden = !given
  if (captures > 0) open(files)
}

listenForFile("keys", readKeys)
byId("no-keys").addEventListener("click", () => setKeys(undefined))

async function readKeys(file: File): Promise<void> {
  const text = await file.text()
  let mistake = ""
  try {
    setKeys({ name: file.name, text }, new KeyLog(text).size)
  } catch (error) {
    mistake = `${file.name}: ${(error as Error).message}.`
  }
  setText(byId("keys-mistake"), mistake)
}

/** Uses another key log, with which the open capture is read again. */
function setKeys(given: typeof keys, connections = 0): void {
  keys = given
  setCutText(
    byId("keys-name"),
    given ? `${given.name}${connections > 0 ? `, ${plural(connections, "key")}` : ""}` : "none",
  )
  byId("no-keys").hidden = !given
  if (captures > 0) open(files)
}

listenForReports(() => client.call("reports"))
listenForPastes((text) => client.call("decode", text, dictionary?.bytes))

document.addEventListener("keydown", (event) => {
  const typing = (event.target as HTMLElement).matches("input:not([type=radio]), dialog *")
  if (event.key === "/" && !typing && state) {
    event.preventDefault()
    filterBox.select()
    filterBox.focus()
  } else if (event.key === "Escape" && detailsOpen && !typing) {
    closeDetails()
    table.focus()
  }
})

async function openEmbedded(): Promise<void> {
  const recording = servedFile(byId("recording"), "recording")
  if (recording) {
    setText(byId("privacy"), "Nothing leaves this computer")
    byId("privacy").title =
      "The policy of this page only allows requests to the program that serves it"
  }
  const [given] = embeddedFiles("capture-dictionary")
  if (given) await readDictionary(given)
  const [log] = embeddedFiles("capture-keys")
  if (log) await readKeys(log)
  else setKeys(servedFile(byId("capture-keys"), "keys"))
  const capture = embeddedFiles("capture")
  if (recording) open({ id: ++recordings, ...recording })
  else if (capture.length > 0) open(capture)
}

void openEmbedded()
