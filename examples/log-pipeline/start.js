/** Starts all processes, and stops them on Ctrl+C and SIGTERM. Each waits for those before it. */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

const run = fileURLToPath(new URL("run.js", import.meta.url))
const processes = [
  ["broker"],
  ["producer", "web"],
  ["producer", "billing"],
  ["consumer", "archive"],
  ["consumer", "search"],
].map((args) => spawn(process.execPath, [run, ...args], { stdio: "inherit" }))

const stop = () => {
  for (const one of processes) one.kill("SIGTERM")
}
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, stop)

for (const one of processes)
  one.on("exit", (code) => {
    if (code === 0) return
    process.exitCode = 1
    stop()
  })
