/** Traffic in one direction: whole messages, and the bytes of their parts before and after encoding. */
export interface Traffic {
  /** Number of whole messages, without dictionaries. */
  messages: number
  /** Plaintext of all parts, in bytes. */
  plainBytes: number
  /** The same parts on the wire, including envelopes and dictionaries but not frame headers. */
  wireBytes: number
}

/** Adds traffic to a total. */
export function addTraffic(total: Traffic, { messages, plainBytes, wireBytes }: Traffic): void {
  total.messages += messages
  total.plainBytes += plainBytes
  total.wireBytes += wireBytes
}
