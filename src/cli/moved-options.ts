import { UsageError } from "./errors.js"
import { quoted } from "./terminal-text.js"

/** What used to be options of `inspect`, and what to write now. The first that was given decides. */
const MOVED: Readonly<Record<string, readonly [command: string, option?: string]>> = {
  "--live": ["live"],
  "--html": ["page", "-o"],
  "--plain": ["plain", "-o"],
  "--open": ["page"],
  "--statistics": ["statistics"],
  "--exchanges": ["exchanges"],
  "--advise": ["advise"],
}
/** These could be given together. */
const TOGETHER: readonly string[] = ["--statistics", "--exchanges", "--advise"]

/** @throws UsageError with the command to use, if a command does now what an option of `inspect` did. */
export function checkMoved(args: readonly string[]): void {
  const end = args.indexOf("--")
  const options = (end < 0 ? args : args.slice(0, end)).map((arg) => arg.split("=", 1)[0] as string)
  const given = Object.keys(MOVED).filter((option) => options.includes(option))
  const [first] = given
  if (first === undefined) return
  const lines = (TOGETHER.includes(first) ? given : [first]).map((option) => lineFor(option, args))
  throw new UsageError(`${first} has moved: use ${lines.join(", and ")}`)
}

/** Returns the command line that does now what `args` of `inspect` did with `option`. */
function lineFor(option: string, args: readonly string[]): string {
  const [command, renamed] = MOVED[option] as readonly [string, string?]
  const words: string[] = []
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string
    const [name = "", ...value] = arg.split("=")
    const moved = MOVED[name]
    // With `live`, it still opens the page.
    if (!moved || (name === "--open" && command === "live")) words.push(arg)
    else if (moved[1] !== undefined) {
      const file = value.length > 0 ? value.join("=") : (args[++i] ?? "FILE")
      if (renamed !== undefined && name === option) words.push(renamed, file)
    }
  }
  const line = ["zeromq-lz4", command, ...words.map(quoted)]
  return `\`${[...line, ...(words.length > 0 ? [] : ["FILE"])].join(" ")}\``
}
