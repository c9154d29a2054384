const { exercise } = require("./exercise.cjs")

test("all works in CommonJS", async () => {
  const modules = ["zeromq-lz4", "zeromq-lz4/codec", "zeromq-lz4/capture"]
  expect(await exercise(...modules.map((name) => require(name)))).toBe("all works")
})
