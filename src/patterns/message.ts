/** The parts of a message. */
export type Message = Buffer[]
