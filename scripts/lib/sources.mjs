/** Which C files there are. */
import { basename, join } from "node:path"
import { filesIn } from "./files.mjs"
import * as paths from "./paths.mjs"

/** Sources of the module, liblz4 apart. */
export const librarySources = () => filesIn(paths.wasm, ".c")
export const liblz4Sources = ["lz4.c", "lz4hc.c"].map((file) => join(paths.liblz4, file))

/** One program each: `test` or `fuzz`. @param {"test" | "fuzz"} kind */
export const programs = (kind) =>
  filesIn(join(paths.wasm, kind), ".c").map((source) => ({ name: basename(source, ".c"), source }))

/** All that clang-format looks after. */
export const formattedSources = () =>
  [
    paths.wasm,
    join(paths.wasm, "test"),
    join(paths.wasm, "fuzz"),
    join(paths.root, "bench/codec"),
  ].flatMap((directory) => [...filesIn(directory, ".c"), ...filesIn(directory, ".h")])
