import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    silent: "passed-only",
    // Only to end what hangs: a busy machine may take long.
    testTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
  },
})
