/** Options of the commands that read captures, which mean the same in each of them. */
import type { DictionarySource } from "../capture/events.js"
import { type CaptureFilter, eventFilter } from "../capture/filter/capture-filter.js"
import { filterHelp, parseFilter } from "../capture/filter/filter.js"
import type { CaptureOptions } from "../capture/index.js"
import { MESSAGE_MAX_BYTES } from "../capture/message-limit.js"
import { MAX_FILES } from "../capture/packets/file-place.js"
import { type Values, wholeNumber } from "./command.js"
import { readDictionary } from "./dictionary.js"
import { UsageError } from "./errors.js"
import { matchingFiles } from "./input.js"
import { KeyFile } from "./key-file.js"

export const FILE_HELP = `FILE is a .pcap or .pcapng, or the bytes that one side of a connection sent; it may be compressed
with gzip. "-" reads standard input. Several files, such as a ring of tcpdump -C or -G, are read as
one: their packets are merged by time. In a name, * and ? stand for any characters.`

export const FILTER_HELP: string = `EXPR: ${filterHelp}
docs/filters.md has all of it.`

export const EXIT_HELP = `The exit code is 0 even if peers broke the protocol, and 1 if FILE is truncated, damaged or not a
capture.`

export const DICTIONARY = {
  "--dictionary FILE": "a dictionary that was sent before the capture began",
} as const

export const KEYS = {
  "--keys FILE":
    "decrypts connections with CURVE, with the keys that a process with ZEROMQ_LZ4_KEYLOG=FILE wrote",
} as const

export const DECODING = {
  "--dictionary-for SCOPE=FILE…":
    "the same for what SCOPE says: a connection (3), one side of it (3:client, 3:server), or a side of all (client, server); can be given more than once",
  "--max-message-size BYTES":
    "maximum plaintext of one message; more is an error; default 268435456 (256 MiB); -1: no limit",
} as const

export const FILTER = {
  "--filter EXPR…":
    "only what matches, as zeromq-lz4 help inspect explains; can be given more than once",
} as const

/** Options of what is printed about a capture. */
export const PRINTING = {
  "--json": "prints JSON, one object per line: see docs/inspect.md",
  "--utc": "times in UTC, and not local ones, also in EXPR",
  "--all":
    "all connections in the summary, not the first 100 (--json: 10000), and not only those with matching rows",
} as const

export function filesOf(positionals: readonly string[]): string[] {
  if (positionals.length === 0) throw new UsageError("no FILE given")
  const files = matchingFiles(positionals)
  if (files.length > MAX_FILES)
    throw new UsageError(`at most ${MAX_FILES} FILEs are read as one; got ${files.length}`)
  return files
}

/** How captures are decoded. */
export interface Decoding extends Omit<CaptureOptions, "keys"> {
  keys: KeyFile | undefined
}

/** Returns how captures are decoded. Reads the dictionaries and the keys. */
export function decodingOf(
  values: Values<typeof DICTIONARY & typeof KEYS & typeof DECODING>,
): Decoding {
  const maxMessageSize =
    wholeNumber("--max-message-size", values["max-message-size"]) ?? MESSAGE_MAX_BYTES
  if (maxMessageSize < -1)
    throw new UsageError(
      `--max-message-size is -1 for no limit, or in bytes; got ${maxMessageSize}`,
    )
  const common = values.dictionary === undefined ? undefined : readDictionary(values.dictionary)
  const keys = values.keys === undefined ? undefined : new KeyFile(values.keys)
  return { maxMessageSize, keys, dictionary: dictionaryChoice(common, values["dictionary-for"]) }
}

/** Returns the files of dictionaries and keys that options name, which are inputs as captures are. */
export function secretFilesOf(
  values: Values<typeof DICTIONARY & typeof KEYS & typeof DECODING>,
): string[] {
  const scoped = values["dictionary-for"] ?? []
  const named = [values.dictionary, values.keys, ...scoped.map((value) => SCOPE.exec(value)?.[2])]
  return named.filter((file) => file !== undefined)
}

const SCOPE = /^([1-9]\d*|(?:[1-9]\d*:)?(?:client|server))=(.+)$/s

/**
 * Returns a function that chooses the dictionary of a connection's side.
 *
 * @param common the dictionary for all that `scoped` does not name.
 * @param scoped values of the option `--dictionary-for`.
 */
function dictionaryChoice(
  common: Uint8Array | undefined,
  scoped: readonly string[] = [],
): DictionarySource {
  const dictionaries = new Map<string, Uint8Array>()
  for (const value of scoped) {
    const [, scope, file] = SCOPE.exec(value) ?? []
    if (scope === undefined || file === undefined)
      throw new UsageError(
        `--dictionary-for is SCOPE=FILE, with the SCOPE 3, 3:client, 3:server, client or server, for example; got ${JSON.stringify(value)}`,
      )
    if (dictionaries.has(scope))
      throw new UsageError(`--dictionary-for names a file for ${scope} twice`)
    dictionaries.set(scope, readDictionary(file))
  }
  // The narrowest scope counts.
  return ({ id }, from) =>
    dictionaries.get(`${id}:${from}`) ??
    dictionaries.get(String(id)) ??
    dictionaries.get(from) ??
    common
}

/** Combines all --filter options into one filter; undefined if there are none. */
export function filterOf(
  expressions: readonly string[] = [],
  utc = false,
): CaptureFilter | undefined {
  if (expressions.length === 0) return undefined
  try {
    const filters = expressions.map((expression) => parseFilter(expression, { utc }))
    return eventFilter((row) => filters.every((matches) => matches(row)))
  } catch (error) {
    throw new UsageError(`--filter: ${(error as SyntaxError).message}`)
  }
}
