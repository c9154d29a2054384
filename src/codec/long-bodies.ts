/** Says which plain parts are copied past the module, in both directions: those with long bodies. */

/** Bodies longer than this are not copied into the module. They are never in an arena. */
export const BYPASS_MIN_BYTES = 8192
/** Number of consecutive frames that are searched for such bodies; searching more takes longer than it saves. */
export const BYPASS_FRAMES = 16
