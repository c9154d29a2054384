const { exercise } = require("./exercise.cjs")

test("all works in CommonJS", async () => {
  expect(await exercise(require("zeromq-lz4"), require("zeromq-lz4/codec"))).toBe("all works")
})
