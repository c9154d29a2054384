import { expect } from "vitest"
import type { Dealer } from "zeromq-lz4"

import type { Joined } from "./joined.js"
import { duplexAll, type Stream } from "./stream.js"
import type { Form } from "./tap.js"

/** Checks that a DEALER and that of a peer send each other arenas, and receive what was sent. */
export async function expectArenasBothWays(
  dealer: Dealer,
  joined: Joined,
  form: Form,
): Promise<void> {
  // The peer's first arena may come after all that we send in the first round.
  for (const name of ["a first round", "a second round"]) {
    const stream: Stream = { name, count: 2000, most: 250 }
    const [here, there] = await Promise.all([
      duplexAll(
        stream,
        (parts) => dealer.send([...parts] as Buffer[]),
        () => dealer.receive(),
      ),
      joined.peer.do({ do: "echo", stream }),
    ])
    expect(there).toMatchObject(here)
  }
  expect(joined.understood("theirs").forms).toContain(form)
  expect(joined.understood("ours").forms).toContain(form)
}
