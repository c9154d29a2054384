import { Codec, ProtocolError } from "zeromq-lz4/codec"

/** Compiled, not run. */
export function isRefused(wire: Uint8Array): boolean {
  try {
    return Codec.createSync().decodePart(wire) === undefined
  } catch (error) {
    return error instanceof ProtocolError
  }
}
