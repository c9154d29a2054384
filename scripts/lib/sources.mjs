/** Lists the C files. */
import { basename, join } from "node:path"
import { filesIn } from "./files.mjs"
import * as paths from "./paths.mjs"

/** Lists the sources of the module, without liblz4. */
export const librarySources = () => filesIn(paths.wasm, ".c")
export const liblz4Sources = ["lz4.c", "lz4hc.c"].map((file) => join(paths.liblz4, file))

/** Lists the programs in wasm/test or wasm/fuzz. @param {"test" | "fuzz"} kind */
export const programs = (kind) =>
  filesIn(join(paths.wasm, kind), ".c").map((source) => ({ name: basename(source, ".c"), source }))

/** Lists all files for clang-format. */
export const formattedSources = () =>
  [
    paths.wasm,
    join(paths.wasm, "test"),
    join(paths.wasm, "fuzz"),
    join(paths.root, "bench/codec"),
  ].flatMap((directory) => [...filesIn(directory, ".c"), ...filesIn(directory, ".h")])
