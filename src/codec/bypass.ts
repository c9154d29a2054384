/** Which bodies of plain parts go around the module, in both directions: long ones, which are not copied into it. */

/** Bodies longer than this go around it. They are never in an arena. */
export const BYPASS_MIN_BYTES = 8192
/** Number of consecutive frames that are searched for such bodies; searching more takes longer than it saves. */
export const BYPASS_FRAMES = 16
