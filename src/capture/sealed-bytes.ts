import type { CaptureCommand, CaptureConnection } from "./events.js"

const NAME = "MESSAGE"

/** Returns the bytes on the wire of a message that is encrypted with CURVE; undefined if a command is none. */
export function sealedBytes(
  { encrypted }: CaptureConnection,
  { name, body }: CaptureCommand,
): number | undefined {
  return encrypted && name === NAME ? 1 + NAME.length + body.length : undefined
}
