import { TextDecoder } from "../base/text.js"
import { replaceInvisible } from "./visible.js"

/** Returns JSON in one line that parses to the same value, with nothing that affects a terminal. */
export function printableJson(value: unknown): string {
  return replaceInvisible(JSON.stringify(value), escapedInJson)
}

/** Escapes a character in UTF-16, as JSON does: above U+FFFF it takes two escapes. */
function escapedInJson(character: string): string {
  let escapes = ""
  for (let i = 0; i < character.length; i++)
    escapes += `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`
  return escapes
}

let decoder: InstanceType<typeof TextDecoder> | undefined

/** Decodes UTF-8; undefined if the bytes are not valid. */
export function utf8(bytes: Uint8Array): string | undefined {
  try {
    decoder ??= new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}
