/** Names of what benchmarks measure, which stand behind the cell's name in the results. */

/** CPU time for each message sent, whatever the number of receivers. */
export const SENDER_CPU = "CPU of the sender"
export const ROUND_TRIP = "round trip of REQ and REP"
/** The middle one of many times, and the one that only a hundredth of them exceeds. */
export const MEDIAN = "median"
export const PERCENTILE = "99th percentile"
export const LONGEST_DELAY = "longest delay"
/** CPU time for each message that the hub sends, whatever the number of receivers, or receives. */
export const HUB_CPU = "CPU of the hub"
/** CPU time for each message that a spoke sends or receives. */
export const SPOKES_CPU = "CPU of the spokes"
/** CPU time of the hub for each message that one of its peers receives or sends. */
export const DELIVERY_CPU = "CPU of the hub per delivery"
/** Resident memory of the hub for each connection after messages have flowed, and the part in JavaScript's heap. */
export const CONNECTION_MEMORY = "memory of the hub per connection"
export const CONNECTION_HEAP = "heap of the hub per connection"
/** Programs that answer, whose names stand before the quantity. */
export const ROUTER = "ROUTER"
export const REP = "REP"
export const HTTP = "node:http"
/** Messages of the floods that the service receives. */
export const FLOOD = "flood"
/** What a byte on the wire costs: CPU time of who receives it, and memory of who does not. */
export const BYTE_CPU = "CPU for a byte"
export const BYTE_MEMORY = "memory for a byte"
/** CPU time of a broker for each message that it receives. */
export const BROKER_CPU = "CPU of the broker"
/** CPU time for each answer. */
export const SERVICE_CPU = "CPU of the service"
