import type { Part } from "../zmtp/part.js"

export type Message = Part[]

/** Maximum length of a group's name (RFC 48 of the ZeroMQ project). */
export const GROUP_MAX_BYTES = 255
