import { Pull, Push } from "zeromq-lz4"
import { Codec } from "zeromq-lz4/codec"
import { exercise } from "./exercise.cjs"

exercise({ Pull, Push }, { Codec }).then(console.log)
