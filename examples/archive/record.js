import { open } from "node:fs/promises"
import { append } from "./archive.js"

/** Writes the next messages of a socket to a file, compressed as they came. */
export async function record(pull, path, messages) {
  const file = await open(path, "w")
  try {
    for (let i = 0; i < messages; i++) {
      const parts = await pull.receive()
      await append(
        file,
        parts.map((part) => pull.lz4.compressedOf(part) ?? part),
      )
    }
    await file.sync()
    return (await file.stat()).size
  } finally {
    await file.close()
  }
}
