import { readdirSync, readFileSync } from "node:fs"
import { posix } from "node:path"
import { expect, test } from "vitest"

/** The folders of src/, and those that each may import: CONTRIBUTING.md, “Layout”. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  codec: ["base"],
  curve: ["base", "codec"],
  zmtp: ["base", "codec", "curve"],
  transport: ["base", "codec", "curve", "zmtp"],
  thread: ["base", "codec", "transport", "zmtp"],
  patterns: ["base", "codec", "transport", "zmtp"],
  sockets: ["base", "codec", "curve", "patterns", "thread", "transport", "zmtp"],
  bridge: ["base", "codec", "curve", "transport", "zmtp"],
  capture: ["base", "codec", "curve", "zmtp"],
  inspector: ["base", "capture", "codec", "curve"],
  cli: ["base", "bridge", "capture", "codec", "curve", "transport", "zmtp"],
}
const src = new URL("../../src/", import.meta.url)

test.each(Object.entries(LAYERS))("%s/ imports only from the layers below it", (layer, below) => {
  const names = readdirSync(new URL(layer, src), { recursive: true, encoding: "utf8" })
  for (const file of names.filter((name) => name.endsWith(".ts")).map((name) => `${layer}/${name}`))
    for (const [, path] of readFileSync(new URL(file, src), "utf8").matchAll(
      / from "(\.[^"]+)"/g,
    )) {
      const [folder] = posix.join(posix.dirname(file), path as string).split("/")
      const isEntry = layer === "sockets" && folder === "zeromq.js"
      const isModule = layer === "codec" && folder === ".."
      if (folder !== layer && !isEntry && !isModule) expect(below, file).toContain(folder)
    }
})
