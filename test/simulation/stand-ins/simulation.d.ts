/** What the simulator gives to each thread of a run, as a global variable: see engine.ts. */
declare const __simulation: import("../engine.js").Inside
