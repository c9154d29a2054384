/**
 * The files of test/sockets whose tests are about bytes and messages, and need neither processes nor
 * anything else in which systems and versions of Node differ. The gate runs them here only.
 */
export const sameEverywhere = [
  "adaptive-level",
  "arenas",
  "bridge",
  "budget",
  "conflate",
  "hostile",
  "large",
  "large-beside-small",
  "many",
  "pairs",
  "part-limit",
  "plain-peers",
  "races",
  "topics",
  "xpub",
]
