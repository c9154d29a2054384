/** The event loop of unit tests, which can be busy, and polls when a test says so: see polled.ts. */
import * as standIn from "../../src/transport/last-poll.js"

export const { loop, poll } = standIn as unknown as typeof import("./polled.js")
