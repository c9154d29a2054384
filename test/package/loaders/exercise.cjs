/** Everything that must work however the package is loaded: sending, also with a thread and CURVE, the codec, and captures. */
exports.exercise = async (
  { Pull, Push, curveKeyPair },
  { Codec },
  { decodeCapture, decodeFrames },
) => {
  const text = "a message that is long enough to be compressed. ".repeat(50)
  const [server, client] = [curveKeyPair(), curveKeyPair()]
  const curve = {
    pull: { curveServer: true, curveSecretKey: server.secretKey },
    push: {
      curveServerKey: server.publicKey,
      curvePublicKey: client.publicKey,
      curveSecretKey: client.secretKey,
    },
  }
  for (const { thread, pull: pulls, push: pushes } of [
    { thread: false },
    { thread: true },
    { thread: false, ...curve },
  ]) {
    const [push, pull] = [new Push(pushes), new Pull(pulls)]
    const options = { thread, level: 3 }
    await pull.bind("lz4+tcp://127.0.0.1:*", options)
    push.connect(pull.lastEndpoint, options)
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
  const encoded = codec.encodePart(part)
  if (part.compare(codec.decodePart(encoded))) throw new Error("not the same part")
  const [message] = decodeFrames(Buffer.from([0, encoded.length, ...encoded]), {
    transport: "lz4+tcp",
  })
  if (part.compare(message.parts[0].plain)) throw new Error("not the same message of a capture")
  const emptyCapture = Buffer.from("d4c3b2a1020004000000000000000000ffff000001000000", "hex")
  if (decodeCapture(emptyCapture).connections.length > 0)
    throw new Error("an empty capture has connections")
  return "all works"
}
