/**
 * Generates realistic data for benchmarks, tests and the demo. The same seed gives
 * the same bytes on every machine and in every version of Node.
 */
import { createRandom } from "./random.mjs"

/** @typedef {import("./random.mjs").Random} Random */
/** @typedef {"lorem" | "json" | "random" | "zeros"} PayloadKind */

const LOREM =
  "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut " +
  "labore et dolore magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco " +
  "laboris nisi ut aliquip ex ea commodo consequat. Duis aute irure dolor in reprehenderit in " +
  "voluptate velit esse cillum dolore eu fugiat nulla pariatur. Excepteur sint occaecat cupidatat " +
  "non proident, sunt in culpa qui officia deserunt mollit anim id est laborum."

const SERVICES = ["checkout", "catalogue", "identity", "search", "billing", "notifications"]
const REGIONS = ["eu-central-1", "eu-west-1", "us-east-1", "ap-southeast-2"]
const PODS = makePods(createRandom("pods"))
const ROUTES = [
  ["GET", "/api/v2/products/:id"],
  ["GET", "/api/v2/search"],
  ["POST", "/api/v2/carts/:id/items"],
  ["PUT", "/api/v2/users/:id/preferences"],
  ["DELETE", "/api/v2/sessions/:id"],
  ["POST", "/api/v2/orders"],
  ["GET", "/healthz"],
]
const USER_AGENTS = [
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15",
  "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
  "okhttp/4.12.0",
  "python-requests/2.32.3",
]
const TABLES = ["orders", "order_lines", "products", "stock_levels", "customers", "price_lists"]
const QUEUES = [
  "invoice-pdf",
  "order-confirmation",
  "search-reindex",
  "stock-sync",
  "password-reset",
]
const ERRORS = [
  ["TimeoutError", "upstream did not answer within 2000 ms", "UPSTREAM_TIMEOUT"],
  ["ConflictError", "order was changed by another request", "VERSION_CONFLICT"],
  ["ValidationError", "quantity must be between 1 and 99", "INVALID_QUANTITY"],
  ["PaymentError", "card issuer declined the payment", "CARD_DECLINED"],
]
const SOURCES = ["router", "handler", "repository", "pool", "client", "middleware", "serializer"]
const PRODUCTS = [
  "Desk lamp",
  "Office chair",
  "USB-C cable, 2 m",
  "Notebook A5, dotted",
  "Coffee grinder",
  "Rain jacket",
]

/**
 * Yields the Lorem ipsum paragraph repeatedly, each time after a new UUID: a schema
 * that repeats, with values that do not.
 * @param {number} [seed]
 * @returns {Generator<string, never, void>}
 */
export function* loremParagraphs(seed = 1) {
  const random = createRandom(`lorem ${seed}`)
  for (;;) yield `${random.uuid()}\n${LOREM}\n\n`
}

/**
 * Yields the log of a small web shop: one JSON object of 200 to 2000 bytes per event,
 * without the line feed.
 * @param {number} [seed]
 * @returns {Generator<string, never, void>}
 */
export function* logEvents(seed = 1) {
  const random = createRandom(`json ${seed}`)
  let time = Date.UTC(2025, 0, 15, 8) + random.below(86_400_000)
  for (;;) {
    time += random.below(40)
    yield JSON.stringify(logEvent(random, time))
  }
}

/**
 * Creates the few processes that log everything, whatever the seed, so that a
 * dictionary is useful.
 * @param {Random} random
 */
function makePods(random) {
  return SERVICES.flatMap((service) => {
    const version = `${random.between(1, 3)}.${random.below(20)}.${random.below(10)}`
    const release = random.hex(10)
    return REGIONS.map((region) => ({
      service,
      version,
      host: { name: `${service}-${release}-${random.hex(5)}`, region },
    }))
  })
}

/** @typedef {[level: string, details: object]} Described */

// One entry for each percent.
const EVENT_MIX = [
  ...Array(48).fill(httpEvent),
  ...Array(20).fill(queryEvent),
  ...Array(12).fill(cacheEvent),
  ...Array(8).fill(jobEvent),
  ...Array(7).fill(orderEvent),
  ...Array(5).fill(errorEvent),
]

/** @param {Random} random @param {number} time */
function logEvent(random, time) {
  const [level, details] = random.pick(EVENT_MIX)(random)
  return { timestamp: new Date(time).toISOString(), level, ...random.pick(PODS), ...details }
}

/** @param {Random} random */
const trace = (random) => ({
  traceId: random.hex(32),
  spanId: random.hex(16),
  sampled: random.below(10) === 0,
})

/** @param {Random} random @returns {Described} */
function httpEvent(random) {
  const [method, route] = random.pick(ROUTES)
  const status =
    random.below(20) === 0
      ? random.pick([304, 400, 401, 404, 409, 429])
      : method === "POST"
        ? 201
        : 200
  const durationMs = random.between(1, 400) + random.below(1000) / 1000
  return [
    status >= 400 ? "warn" : "info",
    {
      message: `${method} ${route} ${status}`,
      trace: trace(random),
      request: {
        id: random.uuid(),
        method,
        path: route.replace(":id", String(random.between(10_000, 9_999_999))),
        query: route.endsWith("search")
          ? {
              q: random.pick(PRODUCTS).toLowerCase(),
              page: random.between(1, 9),
              sort: "relevance",
            }
          : {},
        remoteAddress: `${random.between(11, 223)}.${random.below(256)}.${random.below(256)}.${random.between(1, 254)}`,
        userAgent: random.pick(USER_AGENTS),
      },
      response: {
        status,
        bytes: random.between(90, 60_000),
        durationMs,
        cached: random.below(4) === 0,
      },
      user:
        random.below(3) === 0
          ? null
          : {
              id: random.between(1000, 999_999),
              plan: random.pick(["free", "plus", "business"]),
              session: random.hex(24),
            },
    },
  ]
}

/** @param {Random} random @returns {Described} */
function queryEvent(random) {
  const table = random.pick(TABLES)
  const durationMs = random.below(90_000) / 1000
  return [
    durationMs > 75 ? "warn" : "debug",
    {
      message: durationMs > 75 ? "slow query" : "query",
      trace: trace(random),
      database: {
        statement: `SELECT * FROM ${table} WHERE tenant_id = $1 AND updated_at > $2 ORDER BY id LIMIT ${random.pick([10, 50, 200])}`,
        parameters: [random.between(1, 400), random.between(1_700_000_000, 1_740_000_000)],
        rows: random.below(200),
        durationMs,
        pool: { active: random.below(20), idle: random.below(20), waiting: random.below(3) },
      },
    },
  ]
}

/** @param {Random} random @returns {Described} */
function cacheEvent(random) {
  const table = random.pick(TABLES)
  return [
    "debug",
    {
      message: `cache ${random.pick(["hit", "miss"])}`,
      key: `${table}:${random.between(1000, 99_999)}`,
      ttlSeconds: random.between(1, 3600),
    },
  ]
}

/** @param {Random} random @returns {Described} */
function jobEvent(random) {
  const queue = random.pick(QUEUES)
  return [
    "info",
    {
      message: `job ${queue} done`,
      job: {
        id: random.uuid(),
        queue,
        attempt: random.between(1, 3),
        waitedMs: random.below(5000),
        durationMs: random.below(20_000),
      },
      memory: {
        rssBytes: random.between(60, 400) * 1_048_576,
        heapUsedBytes: random.between(30_000_000, 200_000_000),
      },
    },
  ]
}

/** @param {Random} random @returns {Described} */
function orderEvent(random) {
  const lines = Array.from({ length: random.between(1, 6) }, () => ({
    sku: `SKU-${random.between(100_000, 999_999)}`,
    name: random.pick(PRODUCTS),
    quantity: random.between(1, 5),
    unitPrice: { amount: random.between(199, 19_999) / 100, currency: "EUR" },
  }))
  return [
    "info",
    {
      message: "order placed",
      trace: trace(random),
      order: {
        id: random.uuid(),
        customer: random.between(1000, 999_999),
        lines,
        express: random.below(5) === 0,
      },
    },
  ]
}

/** @param {Random} random @returns {Described} */
function errorEvent(random) {
  const thrown = thrownError(random)
  const cause = random.below(2) === 0 ? thrownError(random) : null
  return [
    "error",
    {
      message: thrown.message,
      trace: trace(random),
      error: { ...thrown, cause },
      request: { id: random.uuid() },
      retryable: random.below(2) === 0,
    },
  ]
}

/** @param {Random} random */
function thrownError(random) {
  const [name, message, code] = random.pick(ERRORS)
  const frames = Array.from({ length: random.between(3, 10) }, () => {
    const source = random.pick(SOURCES)
    return `    at ${source}.${random.pick(["run", "next", "handle", "query", "send"])} (/srv/app/dist/${source}.js:${random.between(10, 900)}:${random.between(5, 60)})`
  })
  return { name, code, message, stack: [`${name}: ${message}`, ...frames].join("\n") }
}

/** @param {Generator<string>} texts @param {number} size */
function joinToSize(texts, size) {
  const bytes = new Uint8Array(size)
  const encoder = new TextEncoder()
  for (let end = 0; end < size; )
    end += encoder.encodeInto(
      /** @type {string} */ (texts.next().value),
      bytes.subarray(end),
    ).written
  return bytes
}

/** @param {Generator<string>} texts */
function* withLineFeeds(texts) {
  for (const text of texts) yield `${text}\n`
}

/**
 * Returns `size` bytes of one kind. Different seeds give different bytes.
 * @param {PayloadKind} kind
 * @param {number} size
 * @param {number} [seed]
 * @returns {Uint8Array}
 */
export function payload(kind, size, seed = 1) {
  switch (kind) {
    case "lorem":
      return joinToSize(loremParagraphs(seed), size)
    case "json":
      return joinToSize(withLineFeeds(logEvents(seed)), size)
    case "random":
      return createRandom(`random ${seed}`).bytes(size)
    case "zeros":
      return new Uint8Array(size)
  }
}

/**
 * Returns a dictionary for such messages: the end of other data of the same kind,
 * because a compressor finds the last bytes first.
 * @param {PayloadKind} kind
 * @param {number} [size]
 */
export function sampleDictionary(kind, size = 2048) {
  return payload(kind, size, 999)
}
