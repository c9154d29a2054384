/** The parts of the simulator that scripts/simulate.mjs uses. */
export { type Code, Compiled } from "./engine.js"
export { mutations } from "./mutations.js"
export { catchRejections, type Outcome, play } from "./run.js"
export { makeScenario, type Scenario } from "./scenario.js"
export { describe, shrink } from "./shrink.js"
export { parse, stringify } from "./stored.js"
