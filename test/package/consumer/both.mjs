// A single build, so the same class however it is loaded.
import { createRequire } from "node:module"
import { Codec } from "zeromq-lz4/codec"

const required = createRequire(import.meta.url)("zeromq-lz4/codec")
if (required.Codec !== Codec) throw new Error("import and require gave two builds")
console.log("the same")
