const zmq = require("zeromq-lz4")

const push = new zmq.Push()
const pull = new zmq.Pull()
async function exchange() {
  await pull.bind("lz4+tcp://127.0.0.1:*")
  push.connect(pull.lastEndpoint)
  await push.send("received")
  console.log(String(await pull.receive()))
  push.close()
  pull.close()
}
exchange()
