/** Reads a capture with tshark. */
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { temporaryDirectory } from "../support/packed.js"

/** The bytes that each side of one TCP connection sent. */
export interface Wire {
  /** Address and port of the client; without a SYN, of the side seen first. */
  client: string
  fromClient: Uint8Array
  fromServer: Uint8Array
}

/** Reassembles connections, which tshark numbers from 0. `options` are more of its options. */
export function follow(
  capture: Uint8Array,
  connections: number,
  options: readonly string[] = [],
): Wire[] {
  const numbers = Array.from({ length: connections }, (_, i) => i)
  const stdout = tshark(
    capture,
    ...options,
    "-q",
    ...numbers.flatMap((number) => ["-z", `follow,tcp,raw,${number}`]),
  )
  const sections = stdout.split("Follow: tcp,raw").slice(1)
  return numbers.map((number) => {
    const section = sections.find((text) => text.includes(`tcp.stream eq ${number}\n`)) ?? ""
    // One line of hex for each piece; the server's are indented.
    const hex = { fromClient: "", fromServer: "" }
    for (const [, indent, piece] of section.matchAll(/^(\t?)([0-9a-f]+)$/gm))
      hex[indent ? "fromServer" : "fromClient"] += piece
    return {
      client: /^Node 0: (.*)$/m.exec(section)?.[1] ?? "",
      fromClient: new Uint8Array(Buffer.from(hex.fromClient, "hex")),
      fromServer: new Uint8Array(Buffer.from(hex.fromServer, "hex")),
    }
  })
}

/** Returns fields of each packet; see tshark -G fields. `options` are more of its options. */
export function packetFields(
  capture: Uint8Array,
  fields: readonly string[],
  options: readonly string[] = [],
): string[][] {
  const named = fields.flatMap((field) => ["-e", field])
  const stdout = tshark(capture, ...options, "-T", "fields", ...named)
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"))
}

function tshark(capture: Uint8Array, ...args: string[]): string {
  using directory = temporaryDirectory()
  const file = join(directory.path, "capture")
  writeFileSync(file, capture)
  return execFileSync("tshark", ["-r", file, ...args], {
    encoding: "utf8",
    maxBuffer: 1 << 28,
    stdio: "pipe",
  })
}
