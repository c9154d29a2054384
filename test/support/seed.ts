/** The seed of every random choice in tests: always the same, unless SEED asks for others. */
export const SEED: string = process.env.SEED ?? "1"
