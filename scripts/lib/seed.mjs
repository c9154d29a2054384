/** The seed of every random choice in tests and the gate: always the same, unless SEED asks for others. */
export const SEED = process.env.SEED ?? "1"
