import { type Capture, type CaptureEvent, decodeCapture, readCapture } from "zeromq-lz4/capture"
import { Codec, ProtocolError, type ProtocolErrorCode } from "zeromq-lz4/codec"

/** Compiled, not run: the declarations in a user's program. */
export async function consume(bytes: Uint8Array): Promise<Uint8Array[]> {
  using codec = await Codec.create({ maxMessageSize: 1 << 20, dictionary: bytes })
  const same: Codec = Codec.createSync()
  const wire: Uint8Array[][] = same.encode([bytes])
  try {
    const part: Uint8Array | undefined = codec.decodePart(codec.encodePart(bytes))
    return [part ?? bytes, ...wire.flatMap((message) => codec.decode(message)).flat()]
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    const code: ProtocolErrorCode = error.code
    throw new Error(code, { cause: error })
  }
}

export async function inspect(file: Blob): Promise<Capture> {
  for await (const event of readCapture(file, { maxMessageSize: 1 << 20 })) {
    const { type }: CaptureEvent = event
    if (event.type === "message") console.log(type, event.message.parts[0]?.plain?.length)
  }
  return decodeCapture(new Uint8Array(await file.arrayBuffer()))
}

// @ts-expect-error: an option that does not exist
Codec.createSync({ compression: true })
// @ts-expect-error: that level is for sockets
Codec.createSync({ level: "adaptive" })
