/** The announced revisions, and the format on which two sides agree (RFC.md section 3.9). */
import { describe, expect, test } from "vitest"
import { agreed, readAnnounced } from "../../../src/zmtp/revision.js"

const announce = (...pairs: [name: string, value: string][]) =>
  readAnnounced(pairs.map(([name, value]) => [name, Buffer.from(value)]))

describe("what a peer announces", () => {
  test.each([
    ["nothing", [], []],
    ["one format", [["X-Zstd-Revision", "2"]], [["zstd", 2]]],
    ["in any case of letters", [["x-LZ4-revision", "1"]], [["lz4", 1]]],
    ["a later revision", [["X-Lz4-Revision", "123456789"]], [["lz4", 123456789]]],
    [
      "both, in its order",
      [
        ["X-Zstd-Revision", "2"],
        ["X-Lz4-Revision", "1"],
      ],
      [
        ["zstd", 2],
        ["lz4", 1],
      ],
    ],
    [
      "one twice, of which the first counts",
      [
        ["X-Lz4-Revision", "1"],
        ["X-Lz4-Revision", "2"],
      ],
      [["lz4", 1]],
    ],
    [
      "one that is malformed, and is as good as none",
      [
        ["X-Lz4-Revision", "02"],
        ["X-Lz4-Revision", "2"],
        ["X-Zstd-Revision", ""],
      ],
      [],
    ],
    ["another format", [["X-Brotli-Revision", "1"]], []],
  ] as [string, [string, string][], [string, number][]][])("is %s", (_name, given, expected) => {
    expect(announce(...given).map(({ format, revision }) => [format, revision])).toEqual(expected)
  })
})

describe("the agreed format", () => {
  const lz4 = { format: "lz4", revision: 2 } as const
  const zstd = { format: "zstd", revision: 1 } as const
  test.each([
    ["of a peer that announces nothing", ["lz4"], [], undefined],
    ["of a peer that announces another", ["lz4"], [zstd], undefined],
    ["of one and one", ["zstd"], [zstd], zstd],
    ["of one and both", ["lz4"], [zstd, lz4], lz4],
    ["of both and one", ["lz4", "zstd"], [zstd], zstd],
    ["of both, in the same order", ["lz4", "zstd"], [lz4, zstd], lz4],
    ["of both, in the same order", ["zstd", "lz4"], [zstd, lz4], zstd],
    ["of both, in different orders", ["lz4", "zstd"], [zstd, lz4], zstd],
    ["of both, in different orders", ["zstd", "lz4"], [lz4, zstd], zstd],
  ] as const)("%s: %j and %j", (_name, own, announced, expected) => {
    expect(agreed(own, announced)).toBe(expected)
  })
})
