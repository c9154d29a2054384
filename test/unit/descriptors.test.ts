/** How many files the process may still open: as the system tells, as they are counted, and as they are tried. */
import { readFileSync } from "node:fs"
import { transformSync } from "esbuild"
import { expect, test } from "vitest"

import { Script } from "../support/running-script.js"

const LIMIT = 256
const source = readFileSync(new URL("../../src/transport/descriptors.ts", import.meta.url), "utf8")
const { code } = transformSync(source, { loader: "ts", format: "esm" })

test("it is known whether 32 descriptors are left, in every way", async () => {
  const script = new Script(
    `const { canOpen, counted, descriptorsLeft, told } = await import(argument);
    const { openSync } = await import("node:fs");
    const say = () => console.log(JSON.stringify({
      left: descriptorsLeft(32), tried: canOpen(32), counted: counted(0), most: counted(${LIMIT}), told: told() ?? counted(0) }));
    say();
    while (canOpen(32)) openSync("/dev/null", "r");
    say()`,
    `data:text/javascript;base64,${Buffer.from(code).toString("base64")}`,
    "worker",
    LIMIT,
  )
  const before = JSON.parse(await script.line())
  expect(before).toMatchObject({ left: true, tried: true })
  const after = JSON.parse(await script.line())
  expect(after).toMatchObject({ left: false, tried: false })
  for (const { counted, most, told } of [before, after]) {
    // To count them takes one.
    expect(Math.abs(counted - told)).toBeLessThanOrEqual(1)
    expect(most).toBeGreaterThanOrEqual(told)
  }
  expect(after.told).toBe(LIMIT - 31)
  expect(await script.ended(), script.errors).toEqual({ code: 0, signal: null })
})
