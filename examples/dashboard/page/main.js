import { Codec } from "/zeromq-lz4/codec/index.js"

const HISTORY = 60
const template = document.querySelector("#card")
const cards = new Map()
const codec = await Codec.create({ maxMessageSize: 1 << 20 })

connect()

/** Shows what the server passes on, and connects again a second after a connection has ended. */
function connect() {
  const socket = new WebSocket(location.href.replace(/^http/, "ws"))
  socket.binaryType = "arraybuffer"
  socket.onopen = () => setStatus("live")
  socket.onmessage = ({ data }) => {
    const json = typeof data === "string" ? data : decode(new Uint8Array(data))
    for (const machine of JSON.parse(json)) show(machine)
  }
  socket.onclose = () => {
    setStatus("connecting…")
    setTimeout(connect, 1000)
  }
}

/** Decodes a part as it was on the wire between publisher and server. */
function decode(wire) {
  const plain = codec.decodePart(wire)
  document.querySelector("#traffic").textContent = `${wire.length} bytes instead of ${plain.length}`
  return new TextDecoder().decode(plain)
}

function setStatus(text) {
  const status = document.querySelector("#status")
  status.textContent = text
  status.className = text === "live" ? "live" : ""
}

function show({ name, cpu, memory, requests }) {
  const { element, history } = cards.get(name) ?? addCard(name)
  history.push(cpu)
  if (history.length > HISTORY) history.shift()
  element.querySelector(".cpu").textContent = `${Math.round(cpu)} % CPU`
  element.querySelector("meter").value = memory
  element.querySelector(".requests").textContent = `${Math.round(requests)} requests/s`
  const points = history.map((value, i) => `${HISTORY - history.length + i},${20 - value / 5}`)
  element.querySelector("polyline").setAttribute("points", points.join(" "))
}

function addCard(name) {
  const element = template.content.firstElementChild.cloneNode(true)
  element.querySelector("h2").textContent = name
  document.querySelector("#machines").append(element)
  const card = { element, history: [] }
  cards.set(name, card)
  return card
}
