import type { Side } from "./events.js"

/** Returns the other end of a connection. */
export const other = (side: Side): Side => (side === "client" ? "server" : "client")
