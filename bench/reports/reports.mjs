/** The reports of all benchmarks, in the order of bench/README.md. */
import { bursts } from "./bursts.mjs"
import { changes } from "./changes.mjs"
import { codec } from "./codec.mjs"
import { corpora } from "./corpora.mjs"
import { curve } from "./curve.mjs"
import { fan } from "./fan.mjs"
import { latency } from "./latency.mjs"
import { links } from "./links.mjs"
import { memory } from "./memory.mjs"
import { scale } from "./scale.mjs"
import { services } from "./services.mjs"
import { start } from "./start.mjs"
import { threads } from "./threads.mjs"
import { throughput } from "./throughput.mjs"

export const reports = {
  links,
  changes,
  throughput,
  corpora,
  latency,
  bursts,
  fan,
  scale,
  services,
  curve,
  threads,
  memory,
  start,
  codec,
}
