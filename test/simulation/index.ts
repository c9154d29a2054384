/** What scripts/simulate.mjs uses of the simulator. */
export { type Code, Compiled } from "./engine.js"
export { mutations } from "./mutations.js"
export { catchRejections, type Outcome, play } from "./run.js"
export { makeScenario, type Scenario } from "./scenario.js"
export { describe, shrink } from "./shrink.js"
export { parse, stringify } from "./stored.js"
