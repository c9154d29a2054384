const { Codec } = require("zeromq-lz4/codec")
const { roundTrip } = require("./round-trip.cjs")

roundTrip(Codec.createSync())
Codec.create().then((codec) => {
  roundTrip(codec)
  console.log("round trip")
})
