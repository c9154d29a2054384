/**
 * How much is done at a time, and from which size on parts are not copied. The simulator replaces this
 * file by one with smaller limits, which a few messages reach.
 */

// -- Programs: see turn-budget.ts and in-turns.ts ------------------------------------

/** Maximum number of operations of a socket in a turn of the event loop. */
export const OPERATIONS_MAX = 512
/** Number of steps of long work done at once, and in each turn. A step takes a few microseconds. */
export const AT_ONCE_STEPS = 256
export const TURN_STEPS = 1024

// -- Receiving ---------------------------------------------------------------------

/** Plaintext in bytes that a connection decodes before the next connection in line gets its slice. */
export const SLICE_BYTES: number = 2 << 20
/**
 * Maximum size of the pieces of a transcoder's output; only a larger part makes a larger piece. Pieces
 * get smaller for a sink that stops often, because it has to keep the rest of a piece.
 */
export const ROOM_MAX_BYTES: number = 256 * 1024
export const ROOM_MIN_BYTES: number = 16 * 1024
/**
 * Maximum number of frames of traffic that a session reads in one call: a few bytes can be very many
 * frames, and the caller has to look at the time in between.
 */
export const FRAMES_MAX = 1024
/**
 * The rest of a plain body of at least `LANDING_BODY_BYTES` goes from the system straight into its
 * message if it has at least `LANDING_MIN_BYTES`. Smaller bodies are faster read together.
 */
export const LANDING_MIN_BYTES: number = 16 * 1024
export const LANDING_BODY_BYTES: number = 96 * 1024
/** Bodies from this size on, in bytes, reach another thread without being copied again. */
export const EXTRACTED_MIN_BYTES: number = 64 * 1024

/**
 * Maximum number of received parts that wait for the program, of a connection and of a socket. Each
 * takes some 200 bytes of memory, however short it is. Beyond those of the socket, one message more
 * of each connection waits, in its frames.
 */
export const CONNECTION_PARTS_MAX = 65_536
export const SOCKET_PARTS_MAX: number = 1 << 20

// -- Sending -----------------------------------------------------------------------

/**
 * Plain parts of a message from this size on are sent from the caller's memory, in bytes. Smaller ones
 * are faster copied together.
 */
export const REFERRED_MIN_BYTES: number = 64 * 1024
/** Bytes of such parts that are copied at a time while the network is full. */
export const COPIED_BYTES: number = 64 * 1024
/** The same where all has to be copied: in Windows and Deno, where sockets have no descriptor. */
export const ALL_COPIED_BYTES: number = 256 * 1024

// -- Both --------------------------------------------------------------------------

/**
 * Maximum bytes encrypted or decrypted at once. Larger frames go in pieces, so that the bytes copied
 * into the module and out of it stay in a processor's second-level cache.
 */
export const CIPHER_BYTES: number = 64 * 1024
