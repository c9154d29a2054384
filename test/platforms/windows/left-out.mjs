/**
 * The tests of test/sockets that cannot pass in Node for Windows under Wine, by file and name, with the
 * reason. A name that ends with " > *" is that of a group. Those not specific to lz4+tcp:// fail with zeromq.js over tcp:// too.
 */

const terminate = "Windows has no SIGTERM that a process could handle"
const ask = "asks a process for its memory with SIGUSR2, which Windows does not have"
const block = "tells a process with SIGUSR2 to block, which Windows does not have"
const proc = "reads /proc"
const stop = "stops a process with SIGSTOP, which Windows does not have"
const slow = "zeromq.js takes more than a minute"
const ipc = "zeromq.js has no ipc:// on Windows"
const late =
  "a peer that reads nothing for a second loses the rest, and a busy Wine can take as long"
const reset = "Wine ends a connection without an error where the peer reset it"

/** @param {string} why @param {string[]} names @returns {Record<string, string>} */
const all = (why, names) => Object.fromEntries(names.map((name) => [name, why]))

const overIpc = ["ipc → lz4+tcp", "lz4+tcp → ipc", "tcp → lz4+tcp → ipc", "ipc → lz4+tcp → tcp"]
const exchanges = [
  "PUSH and PULL",
  "REQ and REP",
  "PUB and SUB, with topics",
  "DEALER and ROUTER, with identities",
]

/** @type {Record<string, Record<string, string>>} */
export const leftOut = {
  backpressure: all(
    ask,
    [
      "a reader that stops also stops a peer that sends 'bombs that expand 255 times'",
      "a reader that stops also stops a peer that sends 'plain parts'",
      "a reader that stops also stops a peer that sends 'parts that hardly shrink'",
      "many peers that declare 1 GiB and send a few bytes cost a few bytes",
    ].map((name) => `a process that is stuck > ${name}`),
  ),
  bridge: {
    ...all(
      ipc,
      overIpc.flatMap((way) =>
        ["connecting", "bound"].flatMap((role) =>
          exchanges.map((exchange) => `'${way}', the first one '${role}' > ${exchange}`),
        ),
      ),
    ),
    "a bridge that is replaced by another loses no message that it had read": terminate,
  },
  diagnostics: { "channels > report the network error that ended a connection": reset },
  exit: {
    "over 'tcp://' > *": "a process that only uses zeromq.js may hang in Wine when it exits",
    "over 'lz4+tcp://' > a process delivers everything when it > 'closes in the handler of a signal'":
      terminate,
  },
  "exit-sent": all(
    terminate,
    [false, true].flatMap((thread) =>
      [64, 100_000].map(
        (bytes) =>
          `with { thread: ${thread} } > messages of ${bytes} bytes > arrive at a peer that returns between two attempts`,
      ),
    ),
  ),
  "fake-timers": {
    "'fake timers' from before the package was loaded do not stop > *":
      "those of vitest can be recognised, but only Node's are there",
  },
  flush: all(terminate, [
    "a service that receives SIGTERM delivers its messages, and waits no longer than its timeout",
  ]),
  hostile: {
    ...all(
      ask,
      [
        "18 MB of empty parts of one message: expelled with ERR_ZMTP_PARTS",
        "18 MB of messages of tiny parts, which nobody receives",
        "64 MB of PINGs, and never reads",
        "unknown commands",
        "a million short subscriptions to a Publisher",
        "a million short subscriptions to a XPublisher",
        "a flood of long subscriptions to a Publisher",
        "a flood of long subscriptions to a XPublisher",
        "beginnings of frames, over many connections",
      ].map(
        (name) =>
          `memory stays bounded, and an honest peer notices nothing, while one sends > ${name}`,
      ),
    ),
    "a listener that throws neither keeps a peer connected nor affects others": ask,
    "connections that do not complete their handshake > beyond 4096 of them the oldest is closed, and honest peers are served":
      ask,
  },
  many: {
    "over 'tcp://' > a thousand peers connect to one socket at once, and each gets a reply": slow,
    "over 'tcp://' > one socket connects a thousand times at once": slow,
  },
  "old-news": all(
    stop,
    ["", " with a thread"].map(
      (thread) =>
        `over 'lz4+tcp://${thread}' > a process that was stopped sends to the peer that has taken the place of another`,
    ),
  ),
  "pending-attempts": {
    "over 'tcp://' > *": proc,
    "over 'lz4+tcp://' > *": proc,
  },
  reconnect: {
    "over 'tcp://' > an attempt without an answer ends after connectTimeout, and another follows":
      proc,
    "over 'lz4+tcp://' > an attempt without an answer ends after connectTimeout, and another follows":
      proc,
  },
  thread: {
    "with a thread > close() delivers queued messages to a peer that starts to send meanwhile":
      late,
  },
  "thread-blocked": all(
    block,
    [
      "heartbeats continue, and neither side disconnects: it computes",
      "heartbeats continue, and neither side disconnects: it sleeps",
      "messages sent just before are written: 1 message",
      "messages sent just before are written: 1000 messages",
      "messages sent just before are written: 1000 messages and a turn of the event loop",
      "new peers are accepted",
      "a peer that sends has to wait when receiveHighWaterMark is reached, and nothing is lost",
      "few of a peer's small messages are read from the network, and none is lost",
    ].map((name) => `while the event loop is blocked > ${name}`),
  ),
  stats: { "disconnect has the network error": reset },
}

/**
 * Returns the entry by which a test is left out; undefined if it is not.
 * @param {readonly string[]} entries  of its file
 * @param {string} name
 */
export const entryOf = (entries, name) =>
  entries.find((entry) =>
    entry.endsWith(" > *") ? name.startsWith(entry.slice(0, -1)) : name === entry,
  )
