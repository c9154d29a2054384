// What needs neither zeromq nor @types/node, whose latest versions have left old versions of TypeScript behind.
import { decodeCapture, readCapture } from "zeromq-lz4/capture"
import { Codec } from "zeromq-lz4/codec"

const codec = Codec.createSync()
const part: Uint8Array = codec.encodePart(new Uint8Array(3))
codec[Symbol.dispose]()
export const count: number = decodeCapture(part).connections.length
export { readCapture }
