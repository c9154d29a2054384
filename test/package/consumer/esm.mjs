import { Codec } from "zeromq-lz4/codec"
import { roundTrip } from "./round-trip.cjs"

roundTrip(await Codec.create())
roundTrip(Codec.createSync())
console.log("round trip")
