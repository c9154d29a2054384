/** The ways in which the scenarios run, each a project of vitest. */

const files = (...names: string[]) =>
  names.map((name) => `test/differential/scenarios/${name}.test.ts`)

/** Scenarios close all that they open, and use a name once: they run one after the other in each process. */
const inOneProcess = { isolate: false }

/** Whether all scenarios run with plain peers and with CURVE, as in `npm run test:differential`. */
const all = Boolean(process.env.DIFFERENTIAL_ALL)

/** The side that binds, or that connects, is a plain peer, and the other accepts such. */
const plain = (side: "binds" | "connects") => ({
  include: files("*"),
  // The handshakes of raw-curve are the same whether plain peers are accepted.
  exclude: all ? [] : files("raw-curve"),
  env: { DIFFERENTIAL_PLAIN: side },
  ...inOneProcess,
})

/**
 * The side that binds, or that connects, is the server of CURVE. In the gate each scenario runs with one of them, if it
 * is about what boxes hold (frames, commands, properties of peers) or about connections that begin and end.
 */
const curve = (server: "binds" | "connects", ...names: string[]) => ({
  include: files(...(all ? ["*"] : names)),
  // Raw peers do not speak CURVE, except for those of raw-curve.
  exclude: files("curve", "raw-curve", "raw-peers", "raw-plain", "security"),
  env: { DIFFERENTIAL_CURVE: server },
  ...inOneProcess,
})

/** What the format could change: the forms of messages, and connections that begin, end and come back. */
const zstd = {
  include: files(...(all ? ["*"] : ["lifecycle", "messages", "pairs", "pub-sub"])),
  env: { DIFFERENTIAL_ZSTD: "1" },
  ...inOneProcess,
}

export const differentialRuns: Record<string, object> = {
  differential: { include: files("*"), ...inOneProcess },
  "differential-thread": {
    include: files("*"),
    env: { ZEROMQ_LZ4_THREAD: "1" },
    ...inOneProcess,
  },
  "differential-zstd": zstd,
  "differential-plain-binds": plain("binds"),
  "differential-plain-connects": plain("connects"),
  "differential-curve-binds": curve("binds", "drafts", "lifecycle", "messages", "router"),
  "differential-curve-connects": curve(
    "connects",
    "events",
    "high-water-marks",
    "pairs",
    "pub-sub",
  ),
}
