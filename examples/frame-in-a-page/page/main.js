import { decodeFrames } from "/zeromq-lz4/capture/index.js"
import { Codec } from "/zeromq-lz4/codec/index.js"

const form = document.querySelector("form")
const result = document.querySelector("#result")

// Loads the modules, which the browser need not wait for then.
await Codec.create()
await Codec.create({ format: "zstd" })
form.addEventListener("input", show)
show()

/** Decodes what is in the field, or says why it cannot be decoded. */
function show() {
  const { hex, transport } = form.elements
  try {
    const options = { transport: transport.value, maxMessageSize: 1 << 24 }
    result.replaceChildren(...decodeFrames(bytesOf(hex.value), options).flatMap(rowsOf))
  } catch (error) {
    result.replaceChildren(element("p", error.message, "error"))
  }
}

/** Returns the bytes of a text such as “01 00 ff” or “0100ff”. */
function bytesOf(text) {
  const digits = text.replace(/[\s:]/g, "")
  if (!/^([\da-f]{2})*$/i.test(digits))
    throw new Error("These are not pairs of hexadecimal digits.")
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}

function rowsOf({ parts }) {
  return parts.map(({ kind, wire, plain, error }, i) => {
    const row = element("section")
    const size = plain ? `${wire.length} bytes for ${plain.length}` : `${wire.length} bytes`
    row.append(element("h2", `Part ${i + 1}`), element("p", `${kind}, ${size}`, "size"))
    row.append(error ? element("p", error.message, "error") : element("pre", textOf(plain)))
    return row
  })
}

/** Returns a part as text: JSON with indentation. */
function textOf(plain) {
  const text = new TextDecoder().decode(plain)
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function element(name, text = "", className = "") {
  return Object.assign(document.createElement(name), { textContent: text, className })
}
