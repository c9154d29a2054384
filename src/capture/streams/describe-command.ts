import { TextDecoder } from "../../base/text.js"
import { hex } from "../../codec/errors.js"
import { errorReason, pingTimeToLiveMs } from "../../zmtp/commands.js"
import { readMetadata } from "../../zmtp/metadata.js"
import { isCurveHello } from "./password.js"

const SHOWN_BYTES = 100
const SHOWN_HEX_BYTES = 32
const SHOWN_PROPERTIES = 16

/** Describes the data of a command. */
export function describeCommand(name: string, body: Uint8Array): string {
  switch (name) {
    case "READY":
    case "INITIATE": {
      const properties = readMetadata(body)
      if (!properties) return `metadata that is not well-formed: ${words(body)}`
      const shown = [...properties].slice(0, SHOWN_PROPERTIES)
      const text = shown.map(([name, value]) => `${name} ${words(value)}`).join(", ")
      return shown.length < properties.size ? `${text} …` : text
    }
    case "ERROR": {
      const reason = errorReason(body)
      return reason ? words(reason) : `a reason that is not well-formed: ${words(body)}`
    }
    case "SUBSCRIBE":
    case "CANCEL":
      return body.length === 0 ? "every topic" : `topic ${words(body)}`
    case "JOIN":
    case "LEAVE":
      return `group ${words(body)}`
    case "PING":
      return `time to live ${pingTimeToLiveMs(body) / 1000} s${context(body.subarray(2))}`
    case "PONG":
      return context(body).replace(/^, /, "")
    case "HELLO":
      if (isCurveHello(body)) return describeCurve(name, body)
      return `user ${words(body.subarray(1, 1 + (body[0] ?? 0)))}, password not shown`
    default:
      return body.length === 0 ? "" : words(body)
  }
}

/** Describes the data of a command of CURVE's handshake, or of an encrypted message. */
export function describeCurve(name: string, body: Uint8Array): string {
  switch (name) {
    case "HELLO":
      return body.length < 2 ? "malformed" : `CURVE, version ${body[0]}.${body[1]}`
    case "WELCOME":
      return "the server's keys, encrypted"
    case "INITIATE":
    case "READY":
      return "metadata, encrypted"
    case "ERROR":
      return describeCommand(name, body)
    default:
      return `encrypted, ${body.length} bytes`
  }
}

function context(bytes: Uint8Array): string {
  return bytes.length === 0 ? "" : `, context ${words(bytes)}`
}

/** Formats text in quotes and other bytes in hexadecimal, up to a limit. */
function words(bytes: Uint8Array): string {
  const front = bytes.subarray(0, SHOWN_BYTES)
  // The limit may cut a character in two; `stream` omits such a half.
  const text = decodeText(front, front.length < bytes.length)
  if (text !== undefined) return JSON.stringify(text) + (front.length < bytes.length ? " …" : "")
  const shown = bytes.subarray(0, SHOWN_HEX_BYTES)
  return hex(shown) + (shown.length < bytes.length ? " …" : "")
}

function decodeText(bytes: Uint8Array, cut: boolean): string | undefined {
  if (bytes.some((byte) => byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d))
    return undefined
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: cut })
  } catch {
    return undefined
  }
}
