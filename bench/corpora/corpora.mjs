/**
 * Streams of JSON events for bench/corpora, the same on every machine: messages between the
 * services of a shop (small and larger), and reports of sensors (tiny).
 */
import { createRandom } from "../random.mjs"

/** @typedef {import("../random.mjs").Random} Random */

/**
 * @typedef {object} Corpus
 * @property {string} name
 * @property {string} what
 * @property {number} bytes  the approximate total of all events
 * @property {() => Generator<string, never, void>} events
 */

const TYPES = ["order.placed", "order.paid", "order.shipped", "basket.changed", "return.opened"]
const CHANNELS = ["web", "ios", "android", "store", "partner"]
const COUNTRIES = ["DE", "FR", "NL", "PL", "SE", "ES", "IT"]
const CARRIERS = ["dhl", "dpd", "ups", "postnl"]
const BRANDS = ["Nordlys", "Halden", "Marvik", "Tessera", "Quill", "Osterby", "Lumen", "Fjell"]
const THINGS = [
  "desk lamp",
  "office chair",
  "rain jacket",
  "coffee grinder",
  "notebook",
  "travel mug",
  "wool blanket",
  "bookshelf",
  "bike light",
  "backpack",
]
const COLOURS = ["black", "white", "oak", "sand", "navy", "olive", "rust"]
const STREETS = ["Hauptstrasse", "Rue de la Gare", "Kerkstraat", "Storgatan", "Calle Mayor"]
const CITIES = ["Hamburg", "Lyon", "Utrecht", "Gdansk", "Uppsala", "Valencia", "Torino"]
const REASONS = ["too small", "damaged in transit", "not as described", "arrived late"]

const WORDS = "please leave it with the neighbours at door left bell broken call before".split(" ")

/** @param {Random} random */
const item = (random) => ({
  sku: `SKU-${random.between(100_000, 999_999)}`,
  name: `${random.pick(BRANDS)} ${random.pick(THINGS)}`,
  colour: random.pick(COLOURS),
  quantity: random.between(1, 5),
  unitPrice: { amount: random.between(199, 39_999) / 100, currency: "EUR" },
  available: random.below(10) > 0,
})

/** @param {Random} random */
const address = (random) => ({
  street: `${random.pick(STREETS)} ${random.between(1, 180)}`,
  city: random.pick(CITIES),
  postcode: String(random.between(10_000, 99_999)),
  country: random.pick(COUNTRIES),
})

/**
 * Returns an event of `size` bytes: as many lines of an order as fit, padded with a note.
 * @param {Random} random @param {number} sequence @param {number} size
 */
function shopEvent(random, sequence, size) {
  const type = random.pick(TYPES)
  const customer = { id: random.between(10_000, 9_999_999) }
  const event = {
    type,
    version: 3,
    sequence,
    occurredAt: new Date(1_760_000_000_000 + sequence * 37 + random.below(37)).toISOString(),
    channel: random.pick(CHANNELS),
    customer,
  }
  const optional = [
    () => ({ order: { id: random.uuid() } }),
    () => ({ customer: { ...customer, tier: random.pick(["basic", "plus", "gold"]) } }),
    () => ({ address: address(random) }),
    () => ({ shipping: { carrier: random.pick(CARRIERS), tracking: `JD${random.next()}` } }),
    () => ({ returns: type === "return.opened" ? [{ reason: random.pick(REASONS) }] : [] }),
  ]
  const head = () => JSON.stringify(event).slice(0, -1)
  for (const more of optional) {
    if (head().length > size - 150) break
    Object.assign(event, more())
  }

  const start = head()
  let lines = ""
  for (;;) {
    const longer = `${lines}${lines && ","}${JSON.stringify(item(random))}`
    if (start.length + longer.length > size - 30) break
    lines = longer
  }
  const text = lines ? `${start},"lines":[${lines}]` : start
  return `${text},"note":"${note(random, size - text.length - 11)}"}`
}

/** Returns words with a total of `length` bytes. @param {Random} random @param {number} length */
function note(random, length) {
  let text = ""
  while (text.length < length) text += `${random.pick(WORDS)} `
  return text.slice(0, Math.max(0, length))
}

/** @param {string} name @param {(random: Random) => number} size @returns {Generator<string, never, void>} */
function* shopEvents(name, size) {
  const random = createRandom(name)
  for (let sequence = 1; ; sequence++) yield shopEvent(random, sequence, size(random))
}

const UNITS = /** @type {const} */ ([
  ["temperature", "C"],
  ["pressure", "bar"],
  ["flow", "l/min"],
  ["vibration", "mm/s"],
  ["humidity", "%"],
  ["current", "A"],
])
const SITES = ["harbour-north", "harbour-south", "mill", "quarry"]
const MACHINES = ["boiler", "pump", "valve", "compressor", "chiller", "conveyor"]

/** Functions that select the details of an event. @type {((...details: object[]) => object[])[]} */
const TELEMETRY_DETAILS = [
  () => [],
  (range) => [range],
  (range, firmware) => [range, firmware],
  (...all) => all,
]

/** @returns {Generator<string, never, void>} */
function* telemetry() {
  const random = createRandom("tiny")
  for (let sequence = 1; ; sequence++) {
    const [metric, unit] = random.pick(UNITS)
    const reading = {
      device: `${random.pick(MACHINES)}-${random.between(1, 60)}`,
      metric,
      value: random.below(100_000) / 100,
      at: 1_760_000_000_000 + sequence * 11 + random.below(11),
    }
    const kind = { unit, site: random.pick(SITES) }
    const quality = { quality: random.pick(["good", "good", "good", "uncertain", "bad"]) }
    const range = { range: { low: 0, high: 900, warnAbove: random.pick([600, 700, 800]) } }
    const firmware = { firmware: `4.${random.below(3)}.${random.below(10)}` }
    const mains = { supply: { volts: random.between(2290, 2320) / 10, battery: false } }
    yield JSON.stringify(
      random.below(10) === 0
        ? reading
        : Object.assign(
            reading,
            kind,
            quality,
            ...random.pick(TELEMETRY_DETAILS)(range, firmware, mains),
          ),
    )
  }
}

/** @type {readonly Corpus[]} */
export const corpora = [
  {
    name: "tiny",
    what: "telemetry of 64 to 256 bytes",
    bytes: 5e6,
    events: telemetry,
  },
  {
    name: "small",
    what: "events of 181 to 1977 bytes",
    bytes: 10e6,
    events: () =>
      shopEvents("small", (random) =>
        random.below(100) < 37
          ? random.between(181, 499)
          : random.between(500, random.between(1900, 1977)),
      ),
  },
  {
    name: "larger",
    what: "events of 187 bytes to 10 KB",
    bytes: 100e6,
    events: () => shopEvents("larger", (random) => random.between(187, 10_240)),
  },
]

/** Returns all events of a corpus. @param {Corpus} corpus @returns {Uint8Array[]} */
export function eventsOf({ bytes, events }) {
  const encoder = new TextEncoder()
  const all = []
  let length = 0
  for (const text of events()) {
    const event = encoder.encode(text)
    all.push(event)
    length += event.length
    if (length >= bytes) break
  }
  return all
}
