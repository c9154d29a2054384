/** The extent of the tests, which scripts/pressure.mjs sets. */
const { PRESSURE_SECONDS = "0", PRESSURE_EXTENT = "half" } = process.env

/** Seconds for more combinations than the gate tests. */
export const SECONDS: number = Number(PRESSURE_SECONDS)
/** Whether all tests run in their long form. */
export const ALL: boolean = PRESSURE_EXTENT === "triples"
/** The share of the combinations that are run; the first half includes four fifths of all pairs of values. */
export const SHARE: number = PRESSURE_EXTENT === "half" ? 0.5 : 1
