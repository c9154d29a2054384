import type { StreamSink, TcpConnection } from "./connections.js"

/** What one side of a connection sent, without packets around it. It is taken for the client. */
export class RawStream {
  readonly #sink: StreamSink
  #wanted = true
  #offset = 0

  constructor(open: (connection: TcpConnection) => StreamSink) {
    this.#sink = open({ client: "client", server: "server", begun: true, time: undefined })
  }

  push(chunk: Uint8Array): void {
    if (this.#wanted && chunk.length > 0)
      this.#wanted = this.#sink.data("client", chunk, this.#offset, undefined)
    this.#offset += chunk.length
  }

  end(): void {
    if (!this.#wanted) return
    this.#sink.end("client", undefined, true)
    this.#sink.end("server", undefined, true)
  }
}
