/** The page's side of the worker. */
import { shareFile } from "./page-file.js"
import type { Call, Calls, Followed, GivenSecrets, Reply, Request, State } from "./protocol.js"

interface PendingCall {
  resolve(result: unknown): void
  reject(error: Error): void
}

export class Client {
  readonly #worker: Worker
  readonly #waiting = new Map<number, PendingCall>()
  #nextId = 1

  /** @param source the worker's script. A page that was opened from a file may not load another file. */
  constructor(source: string, onState: (state: State) => void, onEnd: (reason: string) => void) {
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }))
    this.#worker = new Worker(url)
    URL.revokeObjectURL(url)
    this.#worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      if ("state" in data) onState(data.state)
      else this.#answer(data)
    }
    this.#worker.onerror = ({ message }) => onEnd(message || "it could not be started")
  }

  call<Name extends Exclude<Call, "open">>(
    call: Name,
    ...args: Parameters<Calls[Name]>
  ): Promise<ReturnType<Calls[Name]>> {
    return this.#call(call, args)
  }

  /** Opens a capture, whose files are shared with the worker. */
  open(
    capture: number,
    files: readonly File[] | Followed,
    ...how: [secrets: GivenSecrets, filter: string]
  ): Promise<void> {
    const shared = "id" in files ? files : files.map(shareFile)
    const ports = "id" in shared ? [] : shared.map(({ port }) => port)
    return this.#call("open", [capture, shared, ...how], ports)
  }

  #call<Name extends Call>(
    call: Name,
    args: Parameters<Calls[Name]>,
    transfer: Transferable[] = [],
  ): Promise<ReturnType<Calls[Name]>> {
    const id = this.#nextId++
    this.#worker.postMessage({ id, call, args } satisfies Request<Name>, transfer)
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as PendingCall["resolve"], reject })
    })
  }

  #answer(reply: Exclude<Reply, { state: State }>): void {
    const waiting = this.#waiting.get(reply.id)
    this.#waiting.delete(reply.id)
    if ("error" in reply) waiting?.reject(new Error(reply.error))
    else waiting?.resolve(reply.result)
  }
}
