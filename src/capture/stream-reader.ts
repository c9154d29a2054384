import type { CaptureError } from "./events.js"
import type { StreamSink, TcpConnection } from "./tcp.js"

/** The bytes of a capture file in, those of its TCP connections out. */
export class StreamReader {
  /**
   * @param open makes the sink of a connection, when its first bytes come.
   * @param fileError takes what is wrong with the file itself; `from` is undefined.
   */
  constructor(
    _open: (connection: TcpConnection) => StreamSink,
    _fileError: (error: CaptureError) => void,
  ) {}

  /**
   * The next bytes of the file. How it is cut into chunks makes no difference; a chunk is not
   * kept. Throws a CaptureFormatError when the file is no capture.
   */
  push(_chunk: Uint8Array): void {}

  /** The file ends here. Throws a CaptureFormatError when it was too short to be a capture. */
  end(): void {}
}
