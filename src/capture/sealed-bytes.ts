import { MESSAGE_EXTRA_BYTES } from "../curve/cipher.js"
import { commandName } from "../zmtp/commands.js"
import type { CaptureCommand, CaptureConnection } from "./events.js"

const NAME = "MESSAGE"

/** Returns whether the body of a frame is a MESSAGE command of CURVE. It has no command flag. */
export const isSealed = (body: Uint8Array): boolean =>
  body.length >= MESSAGE_EXTRA_BYTES && commandName(body) === NAME

/**
 * Returns the bytes on the wire of a command if it is a message that CURVE encrypts; undefined if not.
 */
export function sealedBytes(
  { encrypted }: CaptureConnection,
  { name, body }: CaptureCommand,
): number | undefined {
  return encrypted && name === NAME ? 1 + NAME.length + body.length : undefined
}
