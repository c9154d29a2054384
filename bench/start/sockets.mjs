/**
 * Prints the milliseconds that an import, the first bind and the first message take. Run in a
 * process of its own: `sockets.mjs MODULE SCHEME [OPTIONS]`.
 */
const [, , module, scheme, options = "{}"] = process.argv

const begin = performance.now()
const { Pull, Push } = await import(module)
const imported = performance.now()
const rest = module === "zeromq" ? [] : [JSON.parse(options)]
const pull = new Pull({ linger: 0 })
await pull.bind(`${scheme}127.0.0.1:*`, ...rest)
const bound = performance.now()
const push = new Push({ linger: 0 })
push.connect(pull.lastEndpoint, ...rest)
await push.send("first")
await pull.receive()
const received = performance.now()

console.log(
  JSON.stringify({
    import: imported - begin,
    "first bind": bound - imported,
    "first message": received - bound,
  }),
)
push.close()
pull.close()
