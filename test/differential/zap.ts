/** A ZAP handler (RFC 27) for scenarios. */
import type { Reply } from "zeromq"

import type { Run } from "./scenario.js"

const ZAP_ENDPOINT = "inproc://zeromq.zap.01"

export type Answer = (request: Buffer[]) => (string | Buffer)[]

export const answers = {
  200: ([version, id]: Buffer[]) => [version!, id!, "200", "OK", "user", ""],
  300: ([version, id]: Buffer[]) => [version!, id!, "300", "later", "", ""],
  400: ([version, id]: Buffer[]) => [version!, id!, "400", "no", "", ""],
  500: ([version, id]: Buffer[]) => [version!, id!, "500", "broken", "", ""],
}

/** Replies that are not as ZAP has them. */
export const WRONG_ANSWERS: Readonly<Record<string, Answer>> = {
  "another version": ([, id]) => ["2.0", id!, "200", "OK", "", ""],
  "another id": ([version]) => [version!, "other", "200", "OK", "", ""],
  "an unknown status code": ([version, id]) => [version!, id!, "999", "OK", "", ""],
  "one part too few": ([version, id]) => [version!, id!, "200", "OK", "user"],
  "one part too many": ([version, id]) => [version!, id!, "200", "OK", "user", "", "more"],
  "truncated metadata": ([version, id]) => [
    version!,
    id!,
    "200",
    "OK",
    "user",
    Buffer.from([5, 65]),
  ],
}

/** Answers libzmq's requests at inproc://zeromq.zap.01, and collects them. */
export async function zap(
  { zmq, plain, until, attempt }: Run,
  answer: Answer,
): Promise<Buffer[][]> {
  const handler: Reply = plain(zmq.Reply)
  // The name becomes free some time after the previous handler was closed.
  await until(async () => "resolves" in (await attempt(() => handler.bind(ZAP_ENDPOINT))))
  const requests: Buffer[][] = []
  const serve = async () => {
    for await (const request of handler) {
      requests.push(request)
      await handler.send(answer(request))
    }
  }
  serve().catch(() => {})
  return requests
}

/** Omits request ids, which depend on earlier requests. */
export const shown = (requests: Buffer[][]): Buffer[][] =>
  requests.map(([version, , ...rest]) => [version!, ...rest])

/**
 * Omits events that were reported before: libzmq sometimes keeps a refused connection until
 * `handshakeInterval`, and reports it again.
 */
export function unique<T>(events: readonly T[]): T[] {
  return [...new Map(events.map((event) => [JSON.stringify(event), event])).values()]
}
