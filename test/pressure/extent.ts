/** How much is tried, and with what luck: scripts/pressure.mjs sets it. */
const { PRESSURE_SEED, PRESSURE_SECONDS = "0", PRESSURE_ALL } = process.env

/** Names what is drawn at random; the same one gives the same. */
export const SEED: string = PRESSURE_SEED ?? String(Date.now() % 1e6)
/** For more combinations than the gate has time for. */
export const SECONDS: number = Number(PRESSURE_SECONDS)
/** Whether all is tried in its long form. */
export const ALL: boolean = PRESSURE_ALL === "1"
