const { exercise } = require("./exercise.cjs")

exercise(require("zeromq-lz4"), require("zeromq-lz4/codec"), require("zeromq-lz4/capture")).then(
  console.log,
)
