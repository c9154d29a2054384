/** Passwords in HELLO of PLAIN: where they are, and what is shown instead. */

/** Replaces each byte of a password. */
const BLANK = 0x2a

/** Size of the data of CURVE's HELLO (RFC 26 of the ZeroMQ project), and where its zeros are. */
const CURVE_HELLO_BYTES = 194
const VERSION_BYTES = 2
const ZEROS_END = 74

/** Returns whether the data of a HELLO are those of CURVE, which has no password. PLAIN's differ. */
export const isCurveHello = (body: Uint8Array): boolean =>
  body.length === CURVE_HELLO_BYTES &&
  body[0] === 1 &&
  body[1] === 0 &&
  body.subarray(VERSION_BYTES, ZEROS_END).every((byte) => byte === 0)

/** Blanks out the password of a PLAIN HELLO, or the whole command if it is malformed. */
export function withoutPassword(body: Uint8Array): Uint8Array {
  if (isCurveHello(body)) return body
  return new Uint8Array(body).fill(BLANK, passwordStart(body))
}

/** Returns the position of the password in the data of a HELLO; 0 if it is malformed. */
function passwordStart(body: Uint8Array): number {
  const userEnd = 1 + (body[0] ?? 0)
  const wellFormed =
    userEnd < body.length && userEnd + 1 + (body[userEnd] as number) === body.length
  return wellFormed ? userEnd + 1 : 0
}

const HELLO_NAME_BYTES = 6

/** Returns the ranges of the password in a whole HELLO; of all its data if it is malformed. */
export const passwordRanges = (whole: Uint8Array, ranges: readonly number[]): number[] =>
  rangesFrom(ranges, HELLO_NAME_BYTES + passwordStart(whole.subarray(HELLO_NAME_BYTES)))

/** Returns ranges without the first `skipped` bytes. */
function rangesFrom(ranges: readonly number[], skipped: number): number[] {
  const rest: number[] = []
  let left = skipped
  for (let i = 0; i < ranges.length; i += 2) {
    const [offset, length] = [ranges[i] as number, ranges[i + 1] as number]
    const front = Math.min(left, length)
    left -= front
    if (front < length) rest.push(offset + front, length - front)
  }
  return rest
}
