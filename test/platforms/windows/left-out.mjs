/**
 * The tests of test/sockets that cannot pass in Node for Windows as Wine runs it, by file and name,
 * and why. What is not about lz4+tcp:// fails with zeromq.js over tcp:// as well.
 */

const shell = "sets a limit of open files with a shell"
const terminate = "Windows has no SIGTERM that a process could handle"
const ask = "asks a process for its memory with SIGUSR2, which Windows does not have"
const block = "tells a process with SIGUSR2 to block, which Windows does not have"
const proc = "reads /proc"
const slow = "zeromq.js does not get there within a minute"
const ipc = "zeromq.js has no ipc:// on Windows"
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
      "a reader that stopped stops a peer that sends 'bombs that expand 255 times'",
      "a reader that stopped stops a peer that sends 'plain parts'",
      "a reader that stopped stops a peer that sends 'parts that hardly shrink'",
      "many peers that declare 1 GiB and send a few bytes cost a few bytes",
    ].map((name) => `a process that does not get on > ${name}`),
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
    "a bridge that is replaced by another loses nothing of what it had taken": terminate,
  },
  diagnostics: { "channels > tell what the network did to a connection": reset },
  exit: all(terminate, [
    "over 'tcp://' > a process delivers everything when it > 'closes in the handler of a signal'",
    "over 'lz4+tcp://' > a process delivers everything when it > 'closes in the handler of a signal'",
  ]),
  "exit-sent": all(
    terminate,
    [false, true].flatMap((thread) =>
      [64, 100_000].map(
        (bytes) =>
          `with { thread: ${thread} } > messages of ${bytes} bytes > arrive at a peer that has come back in the pause between attempts`,
      ),
    ),
  ),
  flush: all(terminate, [
    "a service that is told to end delivers what it has sent, and no longer waits than it says",
  ]),
  hostile: {
    ...all(
      ask,
      [
        "18 MB of empty parts of one message: expelled with ERR_ZMTP_PARTS",
        "18 MB of messages of tiny parts, which nobody receives",
        "64 MB of PINGs, and reads no PONG",
        "commands that nobody knows",
        "a million short subscriptions to a Publisher",
        "a million short subscriptions to a XPublisher",
        "a flood of long subscriptions to a Publisher",
        "a flood of long subscriptions to a XPublisher",
        "frames that begin and never go on, over many connections",
      ].map(
        (name) =>
          `memory stays bounded, and an honest peer notices nothing, while one sends > ${name}`,
      ),
    ),
    "a listener that throws saves no peer, and spoils nothing for others": ask,
    "connections that never get on > the oldest of over 4096 in their handshake gives way, and honest peers are served":
      ask,
    "out of descriptors, a process goes on: connections work, and new ones do when there is room":
      shell,
  },
  many: {
    "over 'tcp://' > a thousand peers connect to one socket at once, and each is heard and answered":
      slow,
    "over 'tcp://' > one socket connects a thousand times at once": slow,
    "over 'tcp://' > a process that runs out of descriptors lives on": shell,
    "over 'lz4+tcp://' > a process that runs out of descriptors lives on": shell,
    "connect() without descriptors left tries again until there are": shell,
  },
  reconnect: {
    "over 'tcp://' > an attempt that nobody answers ends after connectTimeout, and another follows":
      proc,
    "over 'lz4+tcp://' > an attempt that nobody answers ends after connectTimeout, and another follows":
      proc,
  },
  "thread-blocked": all(
    block,
    [
      "heartbeats go on, and neither side gives up: it computes",
      "heartbeats go on, and neither side gives up: it sleeps",
      "what was sent just before it leaves: 1 message",
      "what was sent just before it leaves: 1000 messages",
      "what was sent just before it leaves: 1000 messages and a turn of the event loop",
      "new peers are taken in",
      "a peer that sends has to wait when receiveHighWaterMark is reached, and nothing is lost",
      "few of the small messages that a peer sends are taken from the network, and none is lost",
    ].map((name) => `while the event loop is blocked for 5 s > ${name}`),
  ),
  stats: { "disconnect says what the network did": reset },
}
