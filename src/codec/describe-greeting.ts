import { hex, quoted } from "./errors.js"

/** Maximum bytes of a greeting that are inspected. */
export const DESCRIBED_BYTES = 32

/** Names the protocol of a greeting that is not ZMTP 3 with a supported mechanism (RFC.md section 3). */
export function describeGreeting(seen: Uint8Array, supported = "NULL and PLAIN"): string {
  const text = String.fromCharCode(...seen.subarray(0, DESCRIBED_BYTES))
  const line = /^[\x20-\x7e]*/.exec(text)?.[0] ?? ""
  if (/^[A-Z]+ \S/.test(text) || text.startsWith("HTTP/"))
    return `looks like HTTP (${JSON.stringify(line)})`
  if (seen[0] === 0x16 && seen[1] === 3) return "looks like TLS (a handshake record)"
  if (seen[0] !== 0xff || (seen.length > 9 && seen[9] !== 0x7f))
    return `begins with ${hex(seen.subarray(0, 10))}, not a ZMTP signature`
  const version = seen[10] as number
  if (version < 3) return `is ZMTP ${version === 0 ? 1 : 2}; 3.0 or later is needed`
  const field = seen.subarray(12, DESCRIBED_BYTES)
  const end = field.indexOf(0)
  const mechanism = quoted(end < 0 ? field : field.subarray(0, end))
  return `asks for the mechanism ${mechanism}; ${supported} are supported`
}
