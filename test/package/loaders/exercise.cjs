/** Everything that must work however the package is loaded: sending, with and without a thread, and the codec. */
exports.exercise = async ({ Pull, Push }, { Codec }) => {
  for (const thread of [false, true]) {
    const [push, pull] = [new Push(), new Pull()]
    await pull.bind("lz4+tcp://127.0.0.1:*", { thread })
    push.connect(pull.lastEndpoint, { thread })
    const text = "a message that is long enough to be compressed. ".repeat(50)
    await push.send(text)
    const [received] = await pull.receive()
    if (String(received) !== text) throw new Error(`with thread: ${thread} came ${received}`)
    const { wireBytes, plainBytes } = pull.lz4.stats.received
    if (wireBytes > plainBytes / 5) throw new Error(`with thread: ${thread} it did not shrink`)
    push.close()
    pull.close()
  }
  const codec = Codec.createSync()
  const part = Buffer.from("part".repeat(1000))
  if (part.compare(codec.decodePart(codec.encodePart(part)))) throw new Error("not the same part")
  return "all works"
}
