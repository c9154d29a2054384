import type { CaptureCommand, CaptureConnection } from "./events.js"

const NAME = "MESSAGE"

/**
 * Returns the bytes on the wire of a command if it is a message that CURVE encrypts; undefined if not.
 */
export function sealedBytes(
  { encrypted }: CaptureConnection,
  { name, body }: CaptureCommand,
): number | undefined {
  return encrypted && name === NAME ? 1 + NAME.length + body.length : undefined
}
