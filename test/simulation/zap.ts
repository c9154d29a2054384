/** A ZAP handler that replies after a while. */
import { clientKeyOf } from "./curve.js"
import { addressOf } from "./programs.js"
import type { Random } from "./random.js"
import type { AuthSpec, SocketSpec } from "./scenario.js"
import type { EventLoop } from "./world.js"

/** Sends the parts of a reply. */
export type Answer = (reply: Buffer[]) => void

/** The handler that a context of zeromq.js has at inproc://zeromq.zap.01. */
export interface ZapHandler {
  ask(request: readonly Buffer[], answer: Answer): void
}

/** Returns the credentials of a socket, for scenarios in which peers need them. */
export const credentialsOf = (number: number): { username: string; password: string } => ({
  username: `user ${number}`,
  password: `secret ${number}`,
})

export function makeHandler(
  { plain, delayMs, denied, status }: AuthSpec,
  isEncrypted: boolean,
  sockets: readonly SocketSpec[],
  loop: EventLoop,
  random: Random,
): ZapHandler {
  return {
    ask([, version, id, , address, , mechanism, ...credentials], answer) {
      const asking = sockets.find(({ number }) => addressOf(number) === String(address))
      const { username, password } = credentialsOf(asking?.number ?? -1)
      const key = isEncrypted && asking ? clientKeyOf(asking) : ""
      const expected = isEncrypted
        ? ["CURVE", key]
        : plain
          ? ["PLAIN", username, password]
          : ["NULL"]
      const isKnown = `${expected}` === `${[mechanism, ...credentials]}`
      if (asking && !isKnown)
        loop.world.fail("the handler is told who asks", `${mechanism} ${credentials} of ${address}`)
      const code = asking && !denied.includes(asking.number) ? "200" : status
      if (code === "none") return
      const parts = ["", version as Buffer, id as Buffer, code, "", "", ""]
      loop.setTimeout(
        () => answer(parts.slice(0, code === "short" ? 3 : 7).map((part) => Buffer.from(part))),
        random.fraction() * delayMs,
      )
    },
  }
}
