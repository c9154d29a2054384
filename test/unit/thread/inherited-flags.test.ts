import { expect, test } from "vitest"

import { inheritedFlags } from "../../../src/thread/inherited-flags.js"

test.each<[what: string, execArgv: string[], nodeOptions: string | undefined, inherited: string[]]>(
  [
    ["nothing", [], undefined, []],
    [
      "flags of profilers, and their values",
      ["--cpu-prof", "--cpu-prof-dir", "of cpu", "--heap-prof", "--heap-prof-dir=of heap"],
      "",
      ["--cpu-prof", "--cpu-prof-dir", "of cpu", "--heap-prof", "--heap-prof-dir=of heap"],
    ],
    [
      "not the name of a profile, because there is one for each thread",
      ["--cpu-prof-name", "main", "--cpu-prof", "--heap-prof-name=main"],
      undefined,
      ["--cpu-prof"],
    ],
    [
      "flags of the network",
      ["--no-network-family-autoselection", "--dns-result-order=ipv4first"],
      "--network-family-autoselection-attempt-timeout=500",
      [
        "--network-family-autoselection-attempt-timeout=500",
        "--no-network-family-autoselection",
        "--dns-result-order=ipv4first",
      ],
    ],
    [
      "no modules, inspectors and flags of V8",
      ["--import", "agent", "-r", "agent", "--inspect", "--expose-gc", "--loader=agent"],
      "--require agent --import=agent --max-old-space-size=100",
      [],
    ],
    [
      "quoted values of NODE_OPTIONS",
      [],
      String.raw`--require "../an agent.js"  --cpu-prof-dir "a \"b\" \\c" "--heap-prof"`,
      ["--cpu-prof-dir", String.raw`a "b" \c`, "--heap-prof"],
    ],
  ],
)("worker threads get %s", (_, execArgv, nodeOptions, inherited) => {
  expect(inheritedFlags(execArgv, nodeOptions)).toEqual(inherited)
})
