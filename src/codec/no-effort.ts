/** The effort that compresses nothing, in all formats. */
export const NO_EFFORT = 0
