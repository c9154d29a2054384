/** Says which plain parts are copied past the module, in both directions: those with long bodies. */

/** Bodies longer than this are not copied into the module. They are never in an arena. */
export const BYPASS_MIN_BYTES = 8192
/** Number of consecutive frames searched for such bodies: more would take longer than they save. */
export const BYPASS_FRAMES = 16
