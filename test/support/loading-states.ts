/** Captures that the inspector's page loads. */

import { GrowingFile } from "../../src/inspector/growing-file.js"
import { Loading } from "../../src/inspector/loading.js"
import { PageFile, shareFile } from "../../src/inspector/page-file.js"
import type { GivenKeys, State } from "../../src/inspector/protocol.js"

/** Loads a capture. `until` returns the next state that satisfies a condition. */
export function loadingOf(file: File | GrowingFile, keys?: GivenKeys) {
  let state: State | undefined
  let check = () => {}
  const captured = file instanceof GrowingFile ? file : new PageFile(shareFile(file))
  const loading = new Loading(1, [captured], { dictionary: undefined, keys }, (newest) => {
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
