/** Captures that the inspector's page loads. */

import type { GrowingFile } from "../../src/inspector/growing-file.js"
import { Loading } from "../../src/inspector/loading.js"
import type { State } from "../../src/inspector/protocol.js"

/** Loads a capture. `until` returns the next state that satisfies a condition. */
export function loadingOf(file: Blob | GrowingFile) {
  let state: State | undefined
  let check = () => {}
  const loading = new Loading(1, [file], undefined, (newest) => {
    state = newest
    check()
  })
  const until = (condition: (state: State) => boolean) =>
    new Promise<State>((resolve) => {
      check = () => state && condition(state) && resolve(state)
      check()
    })
  return { loading, until }
}
