import { curveKeyPair, Pull, Push } from "zeromq-lz4"
import { decodeCapture, decodeFrames } from "zeromq-lz4/capture"
import { Codec } from "zeromq-lz4/codec"
import { exercise } from "./exercise.cjs"

exercise({ Pull, Push, curveKeyPair }, { Codec }, { decodeCapture, decodeFrames }).then(console.log)
