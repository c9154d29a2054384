/** The parts of a message. */
export type Message = Buffer[]

/** Maximum bytes of the name of a group, which RADIO sends to and DISH joins (RFC 48 of the ZeroMQ project). */
export const GROUP_MAX_BYTES = 255
