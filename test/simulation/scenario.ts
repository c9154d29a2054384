/** A scenario: the data that determines a run. It is made from a seed, and shrunk if the run fails. */
import type { EndpointOptions } from "../../src/sockets/endpoints/endpoint-options.js"
import { Random } from "./random.js"
import { credentialsOf } from "./zap.js"

export type TypeName =
  | "Pair"
  | "Publisher"
  | "Subscriber"
  | "Request"
  | "Reply"
  | "Dealer"
  | "Router"
  | "Pull"
  | "Push"
  | "XPublisher"
  | "XSubscriber"
  | "Server"
  | "Client"
  | "Radio"
  | "Dish"
  | "Gather"
  | "Scatter"

/** An endpoint that a socket binds, or a socket whose endpoints it connects to. */
export interface EndpointSpec {
  kind: "bind" | "connect"
  /** For "connect": the socket that binds, and the index of its endpoint. */
  to?: number
  index?: number
  atMs: number
  /** For "bind": whether by bindSync(). */
  isSync: boolean
  /** That of lz4+tcp:// if none is given. */
  format?: "zstd"
  /** For "bind": the format with which its address is bound again. */
  formatAgain?: "lz4" | "zstd"
  options: EndpointOptions
}

/** The messages of a program. Their sizes and contents follow from its number and theirs. */
export interface SendSpec {
  count: number
  /** Maximum size of a part, in bytes. */
  maxBytes: number
  maxParts: number
  /** The share of parts that are compressible. */
  compressible: number
  startMs: number
  /** The number of messages without a pause, and the pause in milliseconds. */
  burst: number
  pauseMs: number
  /** Whether it overwrites its memory once send() has returned. */
  scribbles: boolean
  /** Whether it sends without awaiting promises while the socket is writable. */
  eager: boolean
  /** The option of send(), if it is given. */
  compress?: boolean
}

export interface ReceiveSpec {
  how: "wait" | "poll" | "iterate"
  startMs: number
  /** The number of messages after which it pauses and computes. */
  every: number
  pauseMs: number
  computeMs: number
}

export interface SocketSpec {
  number: number
  type: TypeName
  /** The type at the other end, if that determines the form of messages. */
  partner: TypeName
  /** The process. Sockets of one process share an event loop. */
  process: number
  options: Record<string, unknown>
  endpoints: EndpointSpec[]
  send?: SendSpec
  receive?: ReceiveSpec
  /** The other socket of a proxy, whose front end this is. */
  forwardsTo?: number
  /** Whether it belongs to a proxy and has no program of its own. */
  isForwarded?: boolean
  /** Topics or groups. */
  topics: string[]
  /** Whether listeners of its events use the socket. */
  listens: boolean
}

/** What a program sends after it has computed, before the event loop polls. */
export interface BurstSpec {
  /** The phase of the event loop in which it computes. */
  phase: "timers" | "poll" | "check"
  count: number
  /** Whether it awaits each message. */
  awaits: boolean
  /** What it does afterwards. */
  then: "flush" | "close" | "receive" | "nothing"
}

export interface Action {
  kind:
    | "close"
    | "disconnect"
    | "unbind"
    | "rebind"
    | "reconnect"
    | "topic"
    | "compute"
    | "reset"
    | "marks"
    | "kill"
    | "pause"
    | "burst"
    | "cut"
    | "end"
  atMs: number
  socket: number
  value: number
  /** For "burst". `value` is how long it computes, in milliseconds. */
  burst?: BurstSpec
}

/** A peer that connects to a bound endpoint and breaks rules. */
export interface HostileSpec {
  to: number
  index: number
  atMs: number
  kind:
    | "noise"
    | "greeting"
    | "frame"
    | "envelope"
    | "block"
    | "silent"
    | "flood"
    | "half"
    | "messages"
    | "curve"
    | "topics"
    | "connects"
  seed: number
}

export interface NetworkSpec {
  latencyMs: number
  jitterMs: number
  capacityBytes: number
  pieceBytes: number
  readBytes: number
  /** The share of connections that have each fault. */
  reset: number
  fin: number
  pause: number
  refused: number
  /** Maximum number of bytes before a fault. */
  faultBytes: number
}

/** Limits of the engine, which may be lowered so that few messages reach them. */
export interface Limits {
  /** Number of operations without a wait. */
  operations: number
  /** Plaintext that a connection decodes before others get a turn, in bytes. */
  sliceBytes: number
  roomBytes: number
  /** Size of parts that are sent from the caller's memory, and of rests that are read into a message. */
  largeBytes?: number
  /** Number of received parts that wait for the program, of a connection. A socket may have twice as many. */
  parts?: number
  /** Bytes of such parts that are copied at a time. */
  copiedBytes?: number
  /** Whether the system also takes such parts without a copy, as it does by a file descriptor. */
  takesNow?: boolean
  /** Bytes that are encrypted at once. */
  cipherBytes?: number
}

/** The authentication of peers. */
export interface AuthSpec {
  /** Whether they use PLAIN. */
  plain: boolean
  /** Maximum time until the handler replies, in milliseconds. */
  delayMs: number
  /** Sockets that it refuses, and the status for them; "none" is no reply. */
  denied: number[]
  status: "300" | "400" | "500" | "short" | "none"
}

/** What somebody on the way does to a MESSAGE, once. */
export type Tampering = "flip" | "replay" | "swap" | "clear"

/** The encryption of all connections. */
export interface CurveSpec {
  /** The sockets that are servers, and have one pair of keys. */
  servers: "binding" | "connecting"
  /** Sockets with another server's key, which are not let in. */
  wrong: number[]
  /** The share of connections that somebody on the way tampers with, and how. */
  tampered: number
  tampering: Tampering
}

export interface Scenario {
  seed: number
  /** Set if connections are encrypted. */
  curve?: CurveSpec
  /** Set if a ZAP handler authenticates peers. */
  auth?: AuthSpec
  sockets: SocketSpec[]
  actions: Action[]
  hostile: HostileSpec[]
  /** The process whose sockets speak plain tcp://, if there is one; the others accept that. */
  plainProcess?: number | undefined
  /** The direction of all connections in which nobody announces a revision, as peers in other languages. */
  unannounced?: "in" | "out" | undefined
  network: NetworkSpec
  limits: Limits
  /** The share of an encoder's requests for memory that are refused. */
  memoryShare: number
  /** The share of operations on shared memory before or after which other threads continue. */
  atomicShare: number
  clockMs: number
}

/** Types that exchange messages with each other. Those in `a` send. */
interface Family {
  weight: number
  a: readonly TypeName[]
  b: readonly TypeName[]
  sends: "a" | "both"
  single?: boolean
  /** Whether the senders connect, because they address peers by name. */
  aConnects?: boolean
  /** The two sockets of a proxy between them. */
  proxy?: readonly [front: TypeName, back: TypeName]
  /** Whether messages go to several peers, so that dropping depends on the recipients. */
  distributes?: boolean
}

const FAMILIES: readonly Family[] = [
  { weight: 6, a: ["Push"], b: ["Pull"], sends: "a" },
  {
    weight: 4,
    a: ["Publisher", "XPublisher"],
    b: ["Subscriber", "XSubscriber"],
    sends: "a",
    distributes: true,
  },
  { weight: 2, a: ["XSubscriber"], b: ["XPublisher"], sends: "a", distributes: true },
  { weight: 2, a: ["Request"], b: ["Reply"], sends: "a" },
  { weight: 2, a: ["Request"], b: ["Router"], sends: "a" },
  { weight: 4, a: ["Dealer"], b: ["Router"], sends: "a" },
  { weight: 1, a: ["Router"], b: ["Router"], sends: "a", aConnects: true },
  { weight: 1, a: ["Dealer"], b: ["Reply"], sends: "a" },
  { weight: 2, a: ["Dealer"], b: ["Dealer"], sends: "both" },
  { weight: 1, a: ["Pair"], b: ["Pair"], sends: "both", single: true },
  { weight: 2, a: ["Client"], b: ["Server"], sends: "a" },
  { weight: 2, a: ["Radio"], b: ["Dish"], sends: "a" },
  { weight: 1, a: ["Scatter"], b: ["Gather"], sends: "a" },
  { weight: 1, a: ["Push"], b: ["Pull"], sends: "a", proxy: ["Pull", "Push"] },
  { weight: 1, a: ["Request"], b: ["Reply"], sends: "a", proxy: ["Router", "Dealer"] },
  {
    weight: 1,
    a: ["Publisher"],
    b: ["Subscriber"],
    sends: "a",
    proxy: ["XSubscriber", "XPublisher"],
    distributes: true,
  },
]

/** Longer than any run. */
export const LONG_RECONNECT_MS = 60_000

/** Returns whether messages of a type may have several parts. */
export const takesParts = (type: TypeName): boolean =>
  !["Client", "Server", "Radio", "Dish", "Scatter", "Gather"].includes(type)

/** The welcome message of an XPUB, which has the first topic. */
export const WELCOME: Buffer = Buffer.from("aaaa welcome")

export const TOPICS = ["aaaa", "aabb", "abab", "bbbb", "cccc"] as const

const CONFLATING: readonly TypeName[] = ["Publisher", "Subscriber", "Push", "Pull", "Dealer"]

export const DICTIONARY = Buffer.from(
  '{"id":0,"name":"aaaa","values":[0,1,2,3,4,5,6,7,8,9]}'.repeat(4),
)

/** A dictionary of zstd+tcp://: that of the examples in RFC.md. */
export const ZDICT: Buffer = Buffer.from(
  [
    "N6Qw7MkRFj8WEPBsHAAAALyQSUqZpHzG2HvvvffeO6MEAAAAByn6AAAABAAAAABAEwYDAAAAAAAAmQAAAAAAJFdGAAAACAAA",
    "AAAAAAAA5HMCmgMAAAAAAAAAAAAAAAAAAAEAAAAEAAAACAAAAHJ1ZSwiZnJvbSI6IndlYiJ9dWUsImZyb20iOiJ3ZWIifXsi",
    "ZXZlbnQiOiJsb2dpbiIsInVzZXIiOjQyNiwib2siOnR1ZSwiZnJvbSI6IndlYiJ9eyJldmVudCI6ImxvZ2luIiwidXNlciI6",
    "NzE5LCJvayI6dHJ1ZSwiZnJvbSI6IndlYiJ9eyJldmVudCI6ImxvZ2luIiwidXNlciI6MTUsIm9rIjp0dWUsImZyb20iOiJ3",
    "ZWIifXsiZXZlbnQi",
  ].join(""),
  "base64",
)

/** Returns a high-water mark, which is often small. */
const mark = (random: Random): number =>
  random.weighted([
    [4, 1],
    [4, 2],
    [3, 3],
    [4, 10],
    [1, random.between(4, 60)],
    [2, 1000],
    [0.3, 0],
  ])

export function makeScenario(seed: number): Scenario {
  const random = new Random(seed, 7)
  const family = random.weighted(FAMILIES.map((item) => [item.weight, item] as const))
  const aCount = family.single ? 1 : random.skewed(1, 7) - 1 || 1
  const bCount = family.single ? 1 : random.skewed(1, 4)
  const aBinds = random.chance(0.35) && family.aConnects !== true
  const faulty = random.chance(0.35)
  const acts = random.chance(0.3)
  const threads = random.chance(0.25)
  const processes = random.chance(0.3) ? 2 : 1
  const sizes = pickSizes(random)
  const sockets: SocketSpec[] = []
  const add = (types: readonly TypeName[], side: "a" | "b") => {
    const type = random.pick(types)
    // An XSUB sends its messages, apart from subscriptions, to its publishers.
    const talks = type === "XSubscriber" && family.a.includes("XPublisher") && random.chance(0.3)
    const sends = side === "a" || family.sends === "both" || talks
    const number = sockets.length
    sockets.push({
      number,
      type,
      partner: (side === "a" ? family.b : family.a)[0] as TypeName,
      process: random.below(processes),
      options: socketOptions(random, type, faulty),
      endpoints: [],
      ...(sends && { send: sendSpec(random, sizes, aCount + bCount) }),
      ...(type !== "Push" &&
        type !== "Publisher" &&
        type !== "Radio" &&
        type !== "Scatter" && { receive: receiveSpec(random) }),
      topics: topicsOf(random, type),
      listens: random.chance(0.15),
    })
  }
  for (let i = 0; i < aCount; i++) add(family.a, "a")
  for (let i = 0; i < bCount; i++) add(family.b, "b")
  const proxied = family.proxy && addProxy(random, sockets, family, processes, faulty)
  const binding = proxied ?? sockets.filter(({ number }) => number < aCount === aBinds)
  const connecting = sockets.filter((socket) =>
    proxied ? !socket.isForwarded : socket.number < aCount !== aBinds,
  )
  // Some peers read arenas, and others do not.
  const mixed = random.chance(0.3)
  const limitsBytes = random.chance(0.1)
  const common = endpointOptions(random)
  const options = (): EndpointOptions => {
    const chosen = random.chance(0.7) ? common : endpointOptions(random)
    return {
      ...chosen,
      ...(mixed && { revision: random.pick([1, 2]) }),
      ...(mixed && chosen.arenas && { arenas: "auto" as const }),
      ...(threads && random.chance(0.6) && { thread: true }),
      ...(limitsBytes && { receiveHighWaterBytes: random.pick([1, 1000, 50_000]) }),
    }
  }
  for (const socket of binding) {
    const many = random.chance(0.1) ? 2 : 1
    for (let i = 0; i < many; i++)
      socket.endpoints.push({
        kind: "bind",
        atMs: 0,
        // A proxy binds before it starts.
        isSync: random.chance(0.7) || proxied !== undefined,
        options: options(),
      })
  }
  for (const socket of connecting) {
    let targets = random.chance(0.6) ? [random.pick(binding)] : random.shuffled(binding)
    if (proxied) targets = [proxied[socket.number < aCount ? 0 : 1]]
    for (const { number, endpoints } of targets)
      socket.endpoints.push({
        kind: "connect",
        to: number,
        index: random.below(endpoints.length),
        atMs: random.chance(0.7) ? 0 : random.between(0, 30),
        isSync: true,
        options: options(),
      })
  }
  const acted = acts ? actions(random, sockets, threads, mixed) : []
  if (proxied && random.chance(0.5)) acted.push(pauseOf(random, proxied[0]))
  if (!proxied) acted.push(...moreActions(new Random(seed, 19), sockets, faulty || acts))
  // Messages that cannot be written would linger forever.
  if (faulty || !acted.every((action) => onlyLingers(sockets, action)))
    for (const { options } of sockets) if (options.linger === -1) options.linger = 20
  const network = networkSpec(random, faulty, sizes)
  if (network.pieceBytes <= TINY_BYTES) limitPieces(sockets, network)
  // Few scenarios have messages for an XPUB, and slow machines send few of them.
  const isForXPub = family.b.includes("XPublisher")
  if (random.chance(isForXPub ? 0.6 : family.distributes ? 0.12 : 0.04)) {
    stall(random, sockets)
    Object.assign(network, {
      pieceBytes: 65_536,
      readBytes: 65_536,
      capacityBytes: 50_000,
      latencyMs: 0.05,
      ...(isForXPub && { jitterMs: 0.05 }),
    })
  }
  if (family.distributes && bCount > 1 && random.chance(0.2)) {
    uneven(random, sockets)
    Object.assign(network, { pieceBytes: 65_536, readBytes: 65_536, capacityBytes: 20_000 })
  }
  if (
    sockets.length <= 5 &&
    !sockets.some(({ type }) => type === "Request") &&
    random.chance(0.12)
  ) {
    flood(random, sockets)
    Object.assign(network, { pieceBytes: 65_536, readBytes: 262_144, capacityBytes: 1_000_000 })
  }
  // A dialer may be waiting when its socket is closed; messages that senders keep for it would then
  // be missing.
  if (network.reset + network.fin > 0)
    for (const { options, send } of sockets)
      if (!send && random.chance(0.1)) options.reconnectInterval = LONG_RECONNECT_MS
  // A proxy ends at a message that it cannot encode.
  const lacksMemory = random.chance(0.04) && !proxied
  if (lacksMemory && random.chance(0.5)) {
    starve(random, sockets)
    Object.assign(network, { pieceBytes: 65_536, readBytes: 65_536 })
  }
  if (family.distributes && !proxied && random.chance(0.3)) chooseSubscribers(random, sockets)
  // These have random numbers of their own, so that all other scenarios stay the same.
  const apart = new Random(seed, 23)
  if (!proxied) decide(apart, sockets)
  if (!proxied && !aBinds) greetEarly(apart, sockets)
  const breaks = breakOff(apart, sockets, network, acted)
  // A thread ends a connection that lacks memory. A PAIR may not read the next one, nor a ROUTER
  // that of the same name, and messages would linger forever.
  const mayNotRead = ({ type, options }: SocketSpec) =>
    type === "Pair" || options.routingId !== undefined
  if (lacksMemory && threads && sockets.some(mayNotRead))
    for (const { options } of sockets) if (options.linger === -1) options.linger = 20
  const paused = new Random(seed, 61)
  const burst =
    !proxied && !breaks && paused.chance(BURST_SHARE)
      ? burstAfterPause(paused, sockets, network, acted)
      : undefined
  const auth = random.chance(0.1) ? authenticate(random, binding, connecting) : undefined
  const encrypted = new Random(seed, 37)
  const curve = encrypted.chance(CURVE_SHARE)
    ? encrypt(encrypted, sockets, connecting, auth)
    : undefined
  const isKept = !curve || curve.wrong.length + curve.tampered === 0
  const isSteady = !faulty && !breaks && !lacksMemory && !auth && isKept && acted.length === 0
  if (isSteady) takeNextIds(new Random(seed, 29), sockets)
  const plainProcess = random.chance(0.12) ? acceptPlain(random, sockets) : undefined
  const silent = new Random(seed, 47)
  // Who reads no arenas has to announce that, and who announces nothing may be taken for a plain peer.
  const mayBeSilent = sockets.every(({ endpoints }) =>
    endpoints.every(({ options }) => options.revision === undefined && !options.acceptPlain),
  )
  const unannounced =
    silent.chance(0.15) && !curve && mayBeSilent ? silent.pick(["in", "out"] as const) : undefined
  const attackers =
    !breaks && random.chance(0.15) ? hostile(random, binding, curve && encrypted) : []
  floodOtherwise(new Random(seed, 43), attackers, sockets)
  chooseFormats(new Random(seed, 71), sockets, lacksMemory)
  const counting = new Random(seed, 53)
  const referred = new Random(seed, 67)
  const beats = sockets.some(({ options }) => options.heartbeatInterval !== undefined)
  return {
    seed,
    ...(auth && { auth }),
    ...(curve && { curve }),
    ...(plainProcess !== undefined && { plainProcess }),
    sockets,
    actions: acted,
    hostile: attackers,
    unannounced,
    network,
    limits: {
      operations: random.pick([512, 512, 1, 5, 30]),
      sliceBytes: random.pick([524_288, 524_288, 100, 5000]),
      roomBytes: random.pick([262_144, 262_144, 100, 3000]),
      largeBytes: new Random(seed, 31).pick([32_768, 10_000, 1000, 20]),
      ...(counting.chance(0.2) && { parts: counting.pick([1, 3, 10, 40]) }),
      copiedBytes: referred.pick([65_536, 3000, 200]),
      takesNow: referred.chance(0.7),
      ...(curve && { cipherBytes: encrypted.pick([65_536, 400, 100]) }),
      ...(breaks && { operations: apart.pick([1, 5]), sliceBytes: 524_288, roomBytes: 3000 }),
    },
    memoryShare: lacksMemory ? random.pick([0.05, 0.2]) : 0,
    atomicShare: random.pick([0, 0.01, 0.1]),
    // A slow machine on a network of single bytes would only read, and miss heartbeats.
    clockMs: random.pick(
      burst || beats || network.readBytes < 1000 || isForXPub
        ? [0, 0.001, 0.01]
        : [0, 0.001, 0.1, 1.5],
    ),
  }
}

/** The share of scenarios in which a program computes while its peers come and go, and then sends. */
const BURST_SHARE = 0.12

/** Returns the sockets that a socket connects to, or that connect to it. */
function peersOf({ number, endpoints }: SocketSpec, sockets: readonly SocketSpec[]): SocketSpec[] {
  return sockets.filter(
    (other) =>
      endpoints.some(({ to }) => to === other.number) ||
      other.endpoints.some(({ to }) => to === number),
  )
}

/** Makes a program compute, while its peers come and go, and then send. Returns its socket. */
function burstAfterPause(
  random: Random,
  sockets: readonly SocketSpec[],
  network: NetworkSpec,
  acted: Action[],
): SocketSpec | undefined {
  const candidates = sockets.filter(
    ({ type, send }) => send || type === "Router" || type === "Server",
  )
  const busy = random.pick(candidates)
  const peers = peersOf(busy, sockets)
  if (peers.length === 0) return undefined
  // All others go on.
  busy.process = BUSY_PROCESS
  for (const { options, send, receive, endpoints } of [busy, ...peers]) {
    for (const endpoint of endpoints) endpoint.atMs = 0
    options.reconnectInterval = random.pick([3, 10])
    delete options.reconnectMaxInterval
    if (send) {
      send.startMs = 0
      send.count = Math.min(send.count, busy.type === "Request" ? 3 : 20)
    }
    if (receive) Object.assign(receive, { startMs: 0, computeMs: 0 })
  }
  if (random.chance(0.2)) busy.options.immediate = true
  if (busy.type === "Router") busy.options.mandatory = random.chance(0.8)
  if (random.chance(0.2)) for (const { options } of busy.endpoints) options.thread = true
  if (random.chance(0.8))
    Object.assign(network, { latencyMs: random.pick([0.01, 1]), capacityBytes: 1_000_000 })
  if (random.chance(0.15)) {
    for (const { options } of peers)
      Object.assign(options, { heartbeatInterval: 60, heartbeatTimeout: 40 })
    // Heartbeats end in pauses only.
    Object.assign(network, { latencyMs: 0.05, pieceBytes: 65_536, readBytes: 65_536 })
  }
  const atMs = random.between(20, 60)
  const value = random.pick([5, 10, 30, 100, 300])
  const then = random.pick(["nothing", "nothing", "flush", "close", "receive"] as const)
  const burst = {
    phase: random.pick(["timers", "poll", "check"] as const),
    count: random.pick([1, 2, 5, 20, 50]),
    awaits: random.chance(0.4),
    then,
  }
  acted.push({ kind: "burst", atMs, socket: busy.number, value, burst })
  for (const { number, endpoints } of random.shuffled(peers).slice(0, random.between(0, 2)))
    acted.push({
      kind: random.pick<Action["kind"]>(
        endpoints.some(({ kind }) => kind === "bind")
          ? ["cut", "end", "close", "unbind", "rebind", "rebind"]
          : ["cut", "end", "close", "disconnect", "reconnect", "reconnect"],
      ),
      // Now and then, when the pause is over.
      atMs: atMs + random.between(1, value + 1),
      socket: number,
      value: random.pick([1, 2, 5, 20]),
    })
  // Messages that cannot be written would linger forever.
  if (!acted.every((action) => onlyLingers(sockets, action)))
    for (const { options } of sockets) if (options.linger === -1) options.linger = 20
  if (then === "close") busy.options.linger = LONG_LINGER_MS
  return busy
}

/** The process of a program that computes, which has no other. */
const BUSY_PROCESS = 2
/** Longer than connections take to come back, and less than a run has for its end. */
const LONG_LINGER_MS = 1000

/** Adds the sockets of a proxy, both of which bind. */
function addProxy(
  random: Random,
  sockets: SocketSpec[],
  { a, b, proxy }: Family,
  processes: number,
  faulty: boolean,
): [front: SocketSpec, back: SocketSpec] {
  const process = random.below(processes)
  const [front, back] = (proxy as [TypeName, TypeName]).map((type, i) => ({
    number: sockets.length + i,
    type,
    partner: (i === 0 ? a : b)[0] as TypeName,
    process,
    options: socketOptions(random, type, faulty),
    endpoints: [],
    isForwarded: true,
    topics: [],
    listens: random.chance(0.15),
  })) as SocketSpec[] as [SocketSpec, SocketSpec]
  front.forwardsTo = back.number
  // A proxy ends with a reply to somebody who has gone, if it is told of that.
  if (front.type === "Router") front.options.mandatory = false
  sockets.push(front, back)
  return [front, back]
}

/** Pauses a proxy for a while. */
const pauseOf = (random: Random, { number }: SocketSpec): Action => ({
  kind: "pause",
  atMs: random.between(0, 40),
  socket: number,
  value: random.pick([1, 10, 100]),
})

/** Maximum size of pieces that are so small that a run has many of them. */
const TINY_BYTES = 20
/** Approximate maximum number of pieces in which the messages of a run arrive, if pieces are small. */
const PIECES_MAX = 6000

/**
 * Makes programs send less if each byte travels separately, because such a run takes as long as ten
 * others.
 */
function limitPieces(sockets: readonly SocketSpec[], { pieceBytes, readBytes }: NetworkSpec): void {
  const piece = (pieceBytes + Math.min(pieceBytes, readBytes)) / 2
  let bytes = 0
  for (const { send } of sockets) if (send) bytes += send.count * (20 + send.maxBytes / 6)
  const share = (PIECES_MAX * piece) / (bytes * Math.sqrt(sockets.length))
  if (share >= 1) return
  for (const { send } of sockets) if (send) send.count = Math.ceil(send.count * share)
}

interface Sizes {
  maxBytes: number
  messages: number
}

function pickSizes(random: Random): Sizes {
  return random.weighted<Sizes>([
    [4, { maxBytes: 30, messages: 200 }],
    [4, { maxBytes: 700, messages: 150 }],
    [3, { maxBytes: 6000, messages: 80 }],
    [2, { maxBytes: 40_000, messages: 30 }],
    [0.5, { maxBytes: 300_000, messages: 8 }],
    [0.1, { maxBytes: 3_000_000, messages: 2 }],
  ])
}

/** Makes senders send more small messages at once than a receiver receives without a wait. */
function flood(random: Random, sockets: readonly SocketSpec[]): void {
  for (const { options, send, receive } of sockets) {
    if (receive) {
      options.receiveHighWaterMark = random.pick([1, 2, 10])
      const computeMs = random.pick([0, 0.1, 0.5])
      Object.assign(receive, { how: "wait", startMs: 0, every: 7, pauseMs: -1, computeMs })
    }
    if (!send) continue
    options.sendHighWaterMark = random.pick([0, 1000])
    // One message arrives while the socket is busy with another.
    const startMs = random.pick([0, 1, 2, 5, 20, 40])
    Object.assign(send, { startMs, count: random.between(550, 750), burst: 1000, eager: false })
    // More decoded bytes than one read of the network has.
    const maxBytes = random.pick([20, 3000, 3000])
    Object.assign(send, { maxBytes, maxParts: maxBytes > 20 ? 3 : 1, compressible: 1 })
  }
}

/** Makes senders send more messages than can be queued, while receivers do not receive. */
function stall(random: Random, sockets: readonly SocketSpec[]): void {
  for (const { type, options, endpoints, send, receive } of sockets) {
    for (const endpoint of endpoints) endpoint.atMs = 0
    options.reconnectInterval = 3
    if (receive) receive.startMs = 110
    if (type === "Publisher" && random.chance(0.6)) options.conflate = true
    options.receiveHighWaterMark &&= random.pick([1, 2, 10])
    // Much more than this has to arrive before the programs receive.
    if (type === "XPublisher") options.receiveHighWaterMark = 1
    if (!send) continue
    options.sendHighWaterMark = random.pick([1, 2, 10])
    // Connections and subscriptions exist by then.
    Object.assign(send, { startMs: 30, count: 300, burst: 10, pauseMs: 0, eager: false })
    Object.assign(send, { maxBytes: 9000, maxParts: 1, compressible: 0 })
    if (type !== "XSubscriber") continue
    // An XSUB drops what its own mark does not allow, and its publishers would get little.
    options.sendHighWaterMark = 1000
    Object.assign(send, { startMs: 10, count: 500, maxBytes: 60_000 })
  }
}

/**
 * Makes one receiver stop while others receive, so that the same writes are queued for some
 * connections only.
 */
function uneven(random: Random, sockets: readonly SocketSpec[]): void {
  let isFirst = true
  for (const { options, receive, send } of sockets) {
    if (send) {
      options.sendHighWaterMark = 1000
      options.noDrop = false
      Object.assign(send, { startMs: 20, count: 60, burst: random.pick([3, 6, 12]), pauseMs: 3 })
      Object.assign(send, { maxBytes: 20_000, maxParts: 2, compressible: 0 })
    } else if (receive) {
      options.receiveHighWaterMark = isFirst ? random.pick([1, 2]) : 1000
      Object.assign(receive, { startMs: isFirst ? 90 : 0, every: 1000 })
      isFirst = false
    }
  }
}

/** Gives publishers options that change who gets their messages. */
function chooseSubscribers(random: Random, sockets: readonly SocketSpec[]): void {
  const inverts = random.chance(0.3)
  for (const { type, options } of sockets) {
    if (inverts && type !== "XSubscriber" && type !== "Radio" && type !== "Dish")
      options.invertMatching = true
    if (type !== "XPublisher") continue
    if (random.chance(0.5)) options.welcomeMessage = WELCOME
    if (random.chance(0.3)) options.manual = true
    else if (random.chance(0.5)) options.verbosity = random.pick(["allSubs", "allSubsUnsubs"])
  }
}

/** Lets XPUBs with several subscribers decide by themselves who gets what. */
function decide(random: Random, sockets: readonly SocketSpec[]): void {
  if (sockets.filter(({ type }) => type === "Subscriber").length < 2 || !random.chance(0.4)) return
  for (const { type, options } of sockets) {
    if (type !== "XPublisher") continue
    options.manual = true
    delete options.verbosity
  }
}

/**
 * Lets peers of a ROUTER or REP choose routing ids that it may assign to others. Connections must
 * last: an id that was assigned is the peer's who chose it once the other is gone.
 */
function takeNextIds(random: Random, sockets: readonly SocketSpec[]): void {
  if (sockets.some(({ options }) => options.handover === true) || !random.chance(0.5)) return
  const ids = random.shuffled([1, 2, 3, 4, 5, 6])
  for (const { type, options } of sockets)
    if ((type === "Dealer" || type === "Request") && ids.length > 0 && random.chance(0.6))
      options.routingId = assignedId(ids.pop() as number)
}

/** Returns the routing id that a ROUTER of the simulation assigns with this number. */
const assignedId = (number: number): string => `\0\0\0\0${String.fromCharCode(number)}`

/** Returns whether a socket has chosen a routing id that may be assigned to another. */
export const hasAssignedId = ({ options }: SocketSpec): boolean =>
  typeof options.routingId === "string" && options.routingId.startsWith("\0")

/**
 * Makes XPUBs that connect send before they have a connection, with a welcome message and a
 * dictionary. Inverted matching needs no subscription for that.
 */
function greetEarly(random: Random, sockets: readonly SocketSpec[]): void {
  const early = sockets.filter(({ type }) => type === "XPublisher")
  if (early.length === 0 || !random.chance(0.3)) return
  for (const { type, options } of sockets) if (type !== "XSubscriber") options.invertMatching = true
  for (const { options, endpoints, send } of early) {
    Object.assign(options, { welcomeMessage: WELCOME, sendHighWaterMark: 1000 })
    for (const endpoint of endpoints) {
      const { thread = false } = endpoint.options
      endpoint.atMs = 0
      endpoint.options = random.chance(0.5)
        ? { thread, dictionary: DICTIONARY }
        : { thread, autoDictionary: { trigger: 1, capacity: 64 } }
    }
    if (send) Object.assign(send, { startMs: 0, compressible: 1 })
  }
}

const BREAKS_OFF: readonly TypeName[] = ["Pair", "Dealer", "Client", "Server"]

/**
 * Resets connections while both sides write more than the network takes, and receive more than
 * programs keep up with. A side that does not read at the moment finds the reset as it writes, with
 * decoded messages and undecoded bytes left. Returns whether it did.
 */
function breakOff(
  random: Random,
  sockets: readonly SocketSpec[],
  network: NetworkSpec,
  actions: Action[],
): boolean {
  const suits = sockets.length <= 5 && sockets.every(({ type }) => BREAKS_OFF.includes(type))
  if (!suits || !random.chance(0.4)) return false
  for (const { options, endpoints, send, receive } of sockets) {
    // No connection may lose messages in other ways, or the counters allow for those.
    for (const name of ["heartbeatInterval", "conflate", "sendTimeout"]) delete options[name]
    for (const endpoint of endpoints) delete endpoint.options.thread
    Object.assign(options, { reconnectInterval: 3, sendHighWaterMark: 1000 })
    options.receiveHighWaterMark = random.pick([2, 10])
    if (options.linger === -1) options.linger = 20
    // By the time that programs receive, the network is full.
    if (send) {
      Object.assign(send, { count: 400, maxBytes: 400, maxParts: 1, compressible: 0.5 })
      Object.assign(send, { startMs: 20, burst: 1000, pauseMs: 0, eager: false })
    }
    if (receive)
      Object.assign(receive, { how: "wait", startMs: 60, every: 1, pauseMs: -1, computeMs: 0.1 })
  }
  Object.assign(network, { latencyMs: 0.2, jitterMs: 0, capacityBytes: 10_000 })
  Object.assign(network, { pieceBytes: 65_536, readBytes: 65_536 })
  for (const atMs of [61, 75])
    actions.push({ kind: "reset", atMs: atMs + 5 * random.fraction(), socket: 0, value: 1 })
  return true
}

/** Adds a ZAP handler that decides who connects. */
function authenticate(
  random: Random,
  binding: readonly SocketSpec[],
  connecting: readonly SocketSpec[],
): AuthSpec {
  const plain = random.chance(0.5)
  const denies = random.chance(0.5)
  for (const { options } of binding)
    Object.assign(options, { zapDomain: "global", ...(plain && { plainServer: true }) })
  for (const { number, options } of connecting) {
    const { username, password } = credentialsOf(number)
    if (plain) Object.assign(options, { plainUsername: username, plainPassword: password })
  }
  // Messages for a peer that is refused would linger forever.
  if (denies)
    for (const { options } of [...binding, ...connecting])
      if (options.linger === -1) options.linger = 20
  return {
    plain,
    delayMs: random.pick([0, 3, 30]),
    denied: denies ? connecting.filter(() => random.chance(0.5)).map(({ number }) => number) : [],
    status: random.pick(["300", "400", "500", "short", "none"]),
  }
}

/**
 * Makes all endpoints accept peers that speak plain tcp://. Returns the process whose sockets do, or
 * undefined if only hostile peers may.
 */
function acceptPlain(random: Random, sockets: readonly SocketSpec[]): number | undefined {
  for (const { endpoints } of sockets)
    for (const { options } of endpoints) options.acceptPlain = true
  if (random.chance(0.3)) return undefined
  // Both sockets of a proxy are in one process.
  for (const socket of sockets) {
    if (socket.isForwarded) continue
    const process = random.below(2)
    if (socket.process !== BUSY_PROCESS) socket.process = process
  }
  return 1
}

/** The share of scenarios with endpoints of zstd+tcp://, and that where endpoints serve both formats. */
const ZSTD_SHARE = 0.2
const BOTH_SHARE = 0.7

/**
 * Makes endpoints those of zstd+tcp://: all of them or, where they accept plain peers and so serve both
 * formats, some.
 */
function chooseFormats(random: Random, sockets: readonly SocketSpec[], lacksMemory: boolean): void {
  const serveBoth = sockets.every(({ endpoints }) =>
    endpoints.every(({ options }) => options.acceptPlain),
  )
  if (!random.chance(serveBoth ? BOTH_SHARE : ZSTD_SHARE)) return
  for (const { endpoints } of sockets)
    for (const endpoint of endpoints) {
      if (serveBoth) endpoint.formatAgain = random.pick(["lz4", "zstd"])
      if (serveBoth && random.chance(0.5)) continue
      endpoint.format = "zstd"
      const { acceleration, level, dictionary, ...rest } = endpoint.options
      const others: EndpointOptions = rest
      endpoint.options = others
      // Without memory to check it, connect() and bind() throw.
      if (dictionary && !lacksMemory) others.dictionary = ZDICT
      if (acceleration !== undefined || typeof level === "number")
        others.level = random.pick([-5, -1, 1, 3])
      else if (level !== undefined) others.level = level
    }
}

/** The share of scenarios with CURVE, which takes long. */
const CURVE_SHARE = 0.05

/** Encrypts all connections. A ZAP handler asks for keys then, in place of names and passwords. */
function encrypt(
  random: Random,
  sockets: readonly SocketSpec[],
  connecting: readonly SocketSpec[],
  auth: AuthSpec | undefined,
): CurveSpec {
  if (auth?.plain) {
    auth.plain = false
    for (const { options } of sockets)
      for (const name of ["plainServer", "plainUsername", "plainPassword"]) delete options[name]
  }
  const servers = auth || random.chance(0.8) ? "binding" : "connecting"
  const hasWrong = servers === "binding" && random.chance(0.2)
  const wrong = hasWrong ? connecting.filter(() => random.chance(0.4)) : []
  const tampered = random.chance(0.5) ? random.pick([0.3, 1]) : 0
  // Messages for a peer that is refused would linger forever.
  if (wrong.length + tampered > 0)
    for (const { options } of sockets) if (options.linger === -1) options.linger = 20
  return {
    servers,
    wrong: wrong.map(({ number }) => number),
    tampered,
    tampering: random.pick([
      "flip",
      "flip",
      "replay",
      "clear",
      canSwap(sockets) ? "swap" : "replay",
    ]),
  }
}

/**
 * Returns whether each message is understood without the one before. As in libzmq, a frame that overtakes
 * another is accepted; only the other one is refused.
 */
function canSwap(sockets: readonly SocketSpec[]): boolean {
  return sockets.every(
    ({ type, send, endpoints }) =>
      !["Request", "Reply", "Router"].includes(type) &&
      (send?.maxParts ?? 1) === 1 &&
      endpoints.every(({ options }) => !options.dictionary && !options.autoDictionary),
  )
}

/** Makes senders send large messages at small high-water marks. */
function starve(random: Random, sockets: readonly SocketSpec[]): void {
  for (const { options, send } of sockets) {
    if (!send) continue
    options.sendHighWaterMark = random.pick([1, 2, 3])
    Object.assign(send, { maxBytes: 40_000, maxParts: 1 })
  }
}

function socketOptions(random: Random, type: TypeName, faulty: boolean): Record<string, unknown> {
  const options: Record<string, unknown> = {}
  const sends = !["Subscriber", "Pull", "Dish", "Gather"].includes(type)
  const receives = !["Push", "Publisher", "Radio", "Scatter"].includes(type)
  if (sends && random.chance(0.8)) options.sendHighWaterMark = mark(random)
  if (receives && random.chance(0.8)) options.receiveHighWaterMark = mark(random)
  options.reconnectInterval = random.pick([3, 10, 100])
  if (random.chance(0.2)) options.reconnectMaxInterval = random.pick([50, 200])
  options.linger = random.pick([-1, -1, 0, 20])
  if (random.chance(0.1)) options.immediate = true
  if (CONFLATING.includes(type) && random.chance(0.06)) options.conflate = true
  if (type === "Router") {
    options.mandatory = random.chance(0.5)
    options.handover = random.chance(0.3)
  }
  if ((type === "Dealer" || type === "Request") && random.chance(0.3))
    options.routingId = `id-${random.below(1e6)}`
  if (type === "Request" && random.chance(0.3)) options.correlate = true
  if ((type === "Publisher" || type === "XPublisher") && random.chance(0.4)) options.noDrop = true
  if (faulty && random.chance(0.2)) options.heartbeatInterval = random.pick([60, 200])
  if (sends && random.chance(0.15)) options.sendTimeout = random.pick([0, 5])
  return options
}

function endpointOptions(random: Random): EndpointOptions {
  return random.weighted<EndpointOptions>([
    [5, {}],
    [2, { arenas: true }],
    [2, { arenas: "auto" }],
    [2, { dictionary: DICTIONARY }],
    [
      2,
      { autoDictionary: { trigger: random.pick([1, 3, 20]), capacity: random.pick([64, 2048]) } },
    ],
    [1, { autoDictionary: { trigger: 3 }, arenas: true }],
    [1, { autoDictionary: { trigger: 3 }, arenas: "auto" }],
    [1, { level: random.pick([3, 6, 9, "none"]) }],
    [1, { level: "adaptive" }],
    [1, { acceleration: 40 }],
    [1, { minCompressSize: 0 }],
    [0.5, { dictionary: DICTIONARY, arenas: true, minCompressSize: 0 }],
  ])
}

function sendSpec(random: Random, sizes: Sizes, sockets: number): SendSpec {
  const share = Math.max(2, Math.floor((4 * sizes.messages) / (sockets + 2)))
  return {
    count: random.between(1, share),
    maxBytes: sizes.maxBytes,
    maxParts: random.pick([1, 1, 2, 5]),
    compressible: random.pick([0, 0.5, 0.9, 1]),
    startMs: random.chance(0.6) ? 0 : random.between(0, 20),
    burst: random.pick([1, 3, 10, 100, 1000]),
    pauseMs: random.pick([0, 1, 3]),
    scribbles: random.chance(0.3),
    eager: random.chance(0.2),
    ...compressSpec(random.fork(COMPRESS_STREAM)),
  }
}

/** The stream of random numbers for an option that came later. */
const COMPRESS_STREAM = 54

const compressSpec = (random: Random): { compress?: boolean } =>
  random.chance(0.15) ? { compress: random.chance(0.5) } : {}

function receiveSpec(random: Random): ReceiveSpec {
  return {
    how: random.weighted([
      [5, "wait" as const],
      [2, "iterate" as const],
      [2, "poll" as const],
    ]),
    startMs: random.chance(0.6) ? 0 : random.between(1, 40),
    every: random.pick([1, 3, 7, 50, 1000]),
    pauseMs: random.pick([-1, -1, 0, 1, 5]),
    computeMs: random.pick([0, 0, 0, 0.5, 2]),
  }
}

function topicsOf(random: Random, type: TypeName): string[] {
  if (type === "Subscriber" || type === "XSubscriber")
    return random.chance(0.5)
      ? [""]
      : random.shuffled(["a", "aa", "bbbb", "c", "abab"]).slice(0, random.between(1, 3))
  if (type === "Dish") return random.shuffled(TOPICS).slice(0, random.between(1, 4))
  return []
}

function actions(
  random: Random,
  sockets: readonly SocketSpec[],
  threads: boolean,
  mixed: boolean,
): Action[] {
  const kinds = ["close", "disconnect", "unbind", "reconnect", "topic", "compute", "reset", "marks"]
  // Sockets that were connected to a peer that reads arenas get one that does not, or the other way round.
  if (mixed) kinds.push("rebind", "rebind", "rebind")
  const count = random.between(1, 4)
  const result: Action[] = []
  for (let i = 0; i < count; i++) {
    const kind = random.pick(kinds) as Action["kind"]
    // A socket that computes is more interesting if it has a thread.
    const chosen = threads ? random.pick([kind, kind, "compute" as const, "kill" as const]) : kind
    result.push({
      kind: chosen,
      atMs: random.between(0, 60),
      socket: random.below(sockets.length),
      value: chosen === "compute" ? random.pick([5, 30]) : random.pick([1, 2, 10, 1000]),
    })
  }
  return result
}

/** Makes subscribers change their topics, or sockets that only send disconnect with messages to write. */
function moreActions(random: Random, sockets: readonly SocketSpec[], mayLose: boolean): Action[] {
  const subscribers = sockets.filter(({ type }) => type === "Subscriber")
  const senders = sockets.filter(({ type }) => type === "Push" || type === "Scatter")
  const kinds: Action["kind"][] = senders.length > 0 ? ["disconnect", "reconnect"] : ["topic"]
  const acting = senders.length > 0 && !mayLose ? senders : subscribers
  if (acting.length === 0 || !random.chance(0.15)) return []
  for (const { options } of senders) options.linger = -1
  return Array.from({ length: random.between(1, 4) }, () => ({
    kind: random.pick(kinds),
    atMs: random.between(0, 60),
    socket: random.pick(acting).number,
    value: random.pick([1, 2, 10, 1000]),
  }))
}

/** Returns whether an action loses no message that lingers for as long as it has to. */
export function onlyLingers(
  sockets: readonly SocketSpec[],
  { kind, socket, burst }: Action,
): boolean {
  if (kind === "compute" || kind === "pause") return true
  if (kind === "burst") return burst?.then !== "close"
  const type = sockets.find(({ number }) => number === socket)?.type
  return (kind === "disconnect" || kind === "reconnect") && (type === "Push" || type === "Scatter")
}

/** @param encrypted set if connections are encrypted, for choices of peers that know how. */
function hostile(
  random: Random,
  binding: readonly SocketSpec[],
  encrypted: Random | undefined,
): HostileSpec[] {
  const kinds: HostileSpec["kind"][] = [
    "noise",
    "greeting",
    "frame",
    "envelope",
    "block",
    "silent",
    "flood",
    "half",
    "messages",
  ]
  const peers = Array.from({ length: random.between(1, 3) }, () => {
    const to = random.pick(binding)
    return {
      to: to.number,
      index: random.below(to.endpoints.length),
      atMs: random.between(0, 40),
      kind: random.pick(kinds),
      seed: random.below(2 ** 31),
    }
  })
  for (const peer of peers) if (encrypted?.chance(0.8)) peer.kind = "curve"
  // A PAIR that first met a hostile peer never reads from its partner, which then sends forever.
  return binding.some(({ type }) => type === "Pair") ? [] : peers
}

/** Makes some hostile peers flood with subscriptions, or with connections that come and go. */
function floodOtherwise(
  random: Random,
  peers: readonly HostileSpec[],
  sockets: readonly SocketSpec[],
): void {
  for (const peer of peers) {
    if (!random.chance(0.3)) continue
    const type = sockets.find(({ number }) => number === peer.to)?.type
    const takesTopics = type === "Publisher" || type === "XPublisher"
    peer.kind = takesTopics && random.chance(0.7) ? "topics" : "connects"
  }
}

function networkSpec(random: Random, faulty: boolean, { maxBytes }: Sizes): NetworkSpec {
  // Small pieces of large messages would take as long as many runs.
  const smallest = maxBytes > 50_000 ? 20_000 : maxBytes > 5000 ? 1500 : 1
  const atLeast = (bytes: number) => Math.max(bytes, smallest)
  const piece = atLeast(random.pick([1, 20, 1500, 1500, 65_536, 65_536, 65_536]))
  const share = () => (faulty && random.chance(0.5) ? random.pick([0.2, 0.6]) : 0)
  return {
    latencyMs: random.pick([0.01, 0.05, 1, 10]),
    jitterMs: random.pick([0, 0.05, 2]),
    capacityBytes: 2 * atLeast(random.pick([1000, 10_000, 100_000, 1_500_000])),
    pieceBytes: piece,
    readBytes: atLeast(random.pick([piece, 4000, 65_536, 262_144])),
    reset: share(),
    fin: share(),
    pause: share(),
    refused: share() / 2,
    faultBytes: random.pick([200, 5000, 100_000]),
  }
}
