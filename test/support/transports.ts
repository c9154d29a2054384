import type { EndpointOptions } from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"

/**
 * A transport for a test that runs over several: tcp:// comes first, because its behaviour is the
 * reference.
 */
export interface Transport {
  name: string
  scheme: "tcp://" | "lz4+tcp://"
  options: EndpointOptions
}

export const dictionary = payload("json", 2048)

export const tcp: Transport = { name: "tcp://", scheme: "tcp://", options: {} }

/**
 * Options of all lz4+tcp:// endpoints, as JSON in the environment, to run the same suite with each
 * way of sending. vitest.config.ts has a project for each.
 */
const given = process.env.LZ4_OPTIONS
export const lz4: Transport = {
  name: given ? `lz4+tcp:// with ${given}` : "lz4+tcp://",
  scheme: "lz4+tcp://",
  options: given ? JSON.parse(given) : {},
}

/** Whether the suite only runs once more: with other settings, in another version of Node, or on Windows. */
export const isOnceMore: boolean = Boolean(
  given || process.env.ZEROMQ_LZ4_THREAD || process.env.WITHOUT_REFERENCE,
)

/**
 * For tests of behaviour that the transport must not change. Where a suite only runs once more, the reference
 * was checked the first time.
 */
export const transports: readonly Transport[] = isOnceMore ? [lz4] : [tcp, lz4]

/** Returns how many cases or attempts a test has: `less` where it has run before. */
export const times = (usual: number, less: number): number => (isOnceMore ? less : usual)

/** For tests of the contents of messages. */
export const encodings: readonly Transport[] = [
  ...transports,
  ...(given ? [] : [{ ...lz4, name: "lz4+tcp:// with a dictionary", options: { dictionary } }]),
]
