/** Parsing of endpoints, with libzmq's grammar of tcp://. */
import { networkInterfaces } from "node:os"
import { describe, expect, test } from "vitest"

import {
  canonicalEndpoint,
  formatEndpoint,
  isOurs,
  parseBind,
  parseConnect,
  SCHEMES,
} from "../../../src/transport/address.js"

const SCHEME = SCHEMES.lz4

const [loopback = "lo"] = Object.entries(networkInterfaces())
  .filter(([, addresses]) => addresses?.some(({ address }) => address === "127.0.0.1"))
  .map(([name]) => name)

const error = (code: string, endpoint: string) =>
  expect.objectContaining({ code, errno: expect.any(Number), address: endpoint })

describe("endpoints that can be bound", () => {
  test.each([
    ["127.0.0.1:5555", false, "127.0.0.1", 5555],
    ["127.0.0.1:*", false, "127.0.0.1", 0],
    ["127.0.0.1:0", false, "127.0.0.1", 0],
    ["127.0.0.1:65535", false, "127.0.0.1", 65535],
    ["*:5555", false, "0.0.0.0", 5555],
    ["*:5555", true, "::", 5555],
    [`${loopback}:1`, false, "127.0.0.1", 1],
    ["[127.0.0.1]:1", false, "127.0.0.1", 1],
    ["127.0.0.1:1", true, "::ffff:127.0.0.1", 1],
    ["[::1]:1", true, "::1", 1],
    ["::1:1", true, "::1", 1],
    ["[::]:*", true, "::", 0],
    ["host.example:1", false, "host.example", 1],
    ["[::ffff:127.0.0.1]:1", false, "127.0.0.1", 1],
    ["127.0.0.1:0000001", false, "127.0.0.1", 1],
  ])("%s, with ipv6: %s", (rest, ipv6, host, port) => {
    expect(parseBind(SCHEME + rest, ipv6)).toEqual({ host, port })
  })

  test.each([
    ["", "EINVAL"],
    ["127.0.0.1", "EINVAL"],
    ["127.0.0.1:", "EINVAL"],
    ["127.0.0.1:port", "EINVAL"],
    ["127.0.0.1:-1", "EINVAL"],
    ["127.0.0.1:65536", "EINVAL"],
    ["127.0.0.1:00", "EINVAL"],
    ["127.0.0.1:12a", "EINVAL"],
    ["127.0.0.1:999999999999999999999", "EINVAL"],
    ["*", "EINVAL"],
    [":5555", "ENODEV"],
    ["[]:5555", "ENODEV"],
    ["[::1:5555", "ENODEV"],
    ["[::1]:5555", "ENODEV"],
    [" 127.0.0.1:5555", "ENODEV"],
    ["a b:5555", "ENODEV"],
    ["tcp://127.0.0.1:5555", "ENODEV"],
  ])("%s is refused: %s", (rest, code) => {
    expect(() => parseBind(SCHEME + rest, false)).toThrow(error(code, SCHEME + rest))
  })
})

describe("endpoints that can be connected", () => {
  test.each([
    ["127.0.0.1:5555", "127.0.0.1", 5555, undefined],
    ["host.example:1", "host.example", 1, undefined],
    ["under_score:1", "under_score", 1, undefined],
    ["[::1]:1", "::1", 1, undefined],
    ["::1:1", "::1", 1, undefined],
    ["[fe80::1%eth0]:1", "fe80::1%eth0", 1, undefined],
    ["127.0.0.2:0;127.0.0.1:5555", "127.0.0.1", 5555, { host: "127.0.0.2", port: 0 }],
    ["127.0.0.2:7;127.0.0.1:5555", "127.0.0.1", 5555, { host: "127.0.0.2", port: 7 }],
    ["*:*;127.0.0.1:5555", "127.0.0.1", 5555, { host: "0.0.0.0", port: 0 }],
    [`${loopback}:0;127.0.0.1:5555`, "127.0.0.1", 5555, { host: "127.0.0.1", port: 0 }],
    ["[::ffff:127.0.0.1]:1", "127.0.0.1", 1, undefined],
  ])("%s", (rest, host, port, source) => {
    expect(parseConnect(SCHEME + rest, false)).toEqual({ host, port, source })
  })

  test.each([
    ["", "EINVAL"],
    ["127.0.0.1", "EINVAL"],
    ["127.0.0.1:", "EINVAL"],
    ["127.0.0.1:*", "EINVAL"],
    ["127.0.0.1:0", "EINVAL"],
    ["127.0.0.1:65536", "EINVAL"],
    ["127.0.0.1:12a", "EINVAL"],
    ["*:5555", "EINVAL"],
    ["no_host!:5555", "EINVAL"],
    [" 127.0.0.1:5555", "EINVAL"],
    [";127.0.0.1:5555", "EINVAL"],
    ["127.0.0.2:0;", "EINVAL"],
    ["127.0.0.2;127.0.0.1:5555", "EINVAL"],
    ["127.0.0.2:0;127.0.0.3:0;127.0.0.1:5555", "EINVAL"],
    ["no-such-interface:0;127.0.0.1:5555", "ENODEV"],
  ])("%s is refused: %s", (rest, code) => {
    expect(() => parseConnect(SCHEME + rest, false)).toThrow(error(code, SCHEME + rest))
  })
})

test("an endpoint is formatted with brackets for IPv6", () => {
  expect(formatEndpoint({ host: "127.0.0.1", port: 1 }, SCHEME)).toBe("lz4+tcp://127.0.0.1:1")
  expect(formatEndpoint({ host: "::1", port: 1 }, SCHEME)).toBe("lz4+tcp://[::1]:1")
  expect(formatEndpoint({ host: "::1", port: 1 }, "tcp://")).toBe("tcp://[::1]:1")
})

test.each([
  ["lz4+tcp://localhost:5", false, "lz4+tcp://127.0.0.1:5"],
  ["lz4+tcp://localhost:5", true, "lz4+tcp://[::ffff:127.0.0.1]:5"],
  ["lz4+tcp://127.0.0.1:5", false, "lz4+tcp://127.0.0.1:5"],
  ["lz4+tcp://[::1]:5", true, "lz4+tcp://[::1]:5"],
  ["lz4+tcp://[0:0:0:0:0:0:0:1]:5", true, "lz4+tcp://[::1]:5"],
  ["lz4+tcp://LOCALHOST:05", false, "lz4+tcp://127.0.0.1:5"],
  ["lz4+tcp://*:5", false, "lz4+tcp://*:5"],
  ["lz4+tcp://lo:5", false, "lz4+tcp://lo:5"],
  ["lz4+tcp://anything", false, "lz4+tcp://anything"],
])("%s, with ipv6: %s, is known as %s", (given, ipv6, name) => {
  expect(canonicalEndpoint(given, ipv6)).toBe(name)
})

test.each([
  ["lz4+tcp://x", true],
  ["tcp://x", false],
  ["LZ4+TCP://x", false],
  ["", false],
  [undefined, false],
  [5, false],
])("%s is an lz4+tcp:// endpoint: %s", (given, is) => {
  expect(isOurs(given)).toBe(is)
})
