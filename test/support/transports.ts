import type { EndpointOptions } from "zeromq-lz4"
import { trainDictionary } from "zeromq-lz4/codec"

import { payload } from "../../bench/payloads.mjs"

/**
 * A transport for a test that runs over several: tcp:// comes first, because its behaviour is the
 * reference.
 */
export interface Transport {
  name: string
  scheme: "tcp://" | "lz4+tcp://" | "zstd+tcp://"
  options: EndpointOptions
}

export const tcp: Transport = { name: "tcp://", scheme: "tcp://", options: {} }

/**
 * Options of all lz4+tcp:// endpoints, as JSON in the environment, to run the same suite with each
 * way of sending. vitest.config.ts has a project for each.
 */
const given = process.env.LZ4_OPTIONS
/** For tests that are the same whatever these options are. */
export const hasOptions: boolean = Boolean(given)
/** Whether they are zstd+tcp:// endpoints instead, as another project has it. */
const hasZstd = Boolean(process.env.ZSTD_IN_PLACE_OF_LZ4)
const scheme = hasZstd ? "zstd+tcp://" : "lz4+tcp://"
/** A dictionary of these endpoints: any bytes, or one that was trained. */
export const dictionary: Uint8Array = hasZstd ? await trainedForZstd() : payload("json", 2048)

function trainedForZstd(): Promise<Uint8Array> {
  const samples = Array.from({ length: 100 }, (_, i) => payload("json", 200 + i))
  return trainDictionary(samples, { format: "zstd" })
}

/** The level of the usual effort. */
export const level: 0 | 1 = hasZstd ? 1 : 0

export const lz4: Transport = {
  name: given ? `${scheme} with ${given}` : scheme,
  scheme,
  options: given ? JSON.parse(given) : {},
}

/** Whether the suite only runs once more: with other settings, in another version of Node, or on Windows. */
export const isOnceMore: boolean = Boolean(
  given || hasZstd || process.env.ZEROMQ_LZ4_THREAD || process.env.WITHOUT_REFERENCE,
)

/**
 * For tests of behaviour that the transport must not change. Where a suite only runs once more, the reference
 * was checked the first time.
 */
export const transports: readonly Transport[] = isOnceMore ? [lz4] : [tcp, lz4]

/** Whether all connections are on threads. Tests that say themselves which are need not run once more then. */
export const isOnThreads: boolean = Boolean(process.env.ZEROMQ_LZ4_THREAD)

/**
 * Whether everything runs, as in `npm run test:all` and `npm run test:platforms`. The gate leaves out what its other
 * suites test as well, and some of the attempts at what goes wrong now and then.
 */
export const isInFull: boolean = Boolean(process.env.SOCKETS_ALL) && !isOnceMore

/** Returns how many cases or attempts a test has: `some` unless everything runs. */
export const times = (all: number, some: number): number => (isInFull ? all : some)

/** For tests of the contents of messages. */
export const encodings: readonly Transport[] = [
  ...transports,
  ...(given ? [] : [{ ...lz4, name: "lz4+tcp:// with a dictionary", options: { dictionary } }]),
]
