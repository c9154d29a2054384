/** A rule of a format: the end of its code, and what the error says of a part that breaks it. */
export type Rule = readonly [suffix: string, describe: (part: RefusedPart) => string]

/** How a format names the rules that its parts break. */
export interface Rules {
  readonly name: "lz4" | "zstd"
  /** Position of the dictionary in the part that sends it. */
  readonly dictionaryAt: number
  /** Returns the rule for a negative status of the module, if the format has one of its own. */
  ruleOf(status: number): Rule | undefined
}

/** A part that broke a rule. */
export interface RefusedPart {
  /** Its index in the message. */
  part: number
  /** Its first bytes, as many as a head has. */
  head: Uint8Array
  wireBytes: number
  /** The plaintext that it declares, in bytes. */
  plainBytes: bigint
  /** Bytes that maxMessageSize left for it. */
  budgetLeft: bigint
  budgetBytes: number
  blockMax: number
  format: Rules
}
