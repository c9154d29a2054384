/** The file is read in pieces, so that the events of one piece are freed before the next. */
const CHUNK_BYTES = 1 << 18

/** Reads files in memory in the order in which a reader wants their bytes: see CaptureReader.wanted. */
export function readWanted(
  files: readonly Uint8Array[],
  reader: { readonly wanted: number | undefined },
  push: (chunk: Uint8Array, file: number) => void,
  end: (file: number) => void,
): void {
  const places = files.map(() => 0)
  for (let file = reader.wanted; file !== undefined; file = reader.wanted) {
    const at = places[file] as number
    const chunk = (files[file] as Uint8Array).subarray(at, at + CHUNK_BYTES)
    places[file] = at + chunk.length
    if (chunk.length > 0) push(chunk, file)
    else end(file)
  }
}
