/** Prints the milliseconds from importing the codec to having one. Run in a process of its own. */
const start = performance.now()
const { Codec } = await import("zeromq-lz4/codec")
const codec = await Codec.create()
console.log(JSON.stringify({ "first load": performance.now() - start }))
codec.close()
