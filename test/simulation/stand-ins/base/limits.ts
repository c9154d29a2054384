/** The limits of the scenario. */
import * as usual from "../../../../src/base/limits.js"

const { limits } = __simulation

export const OPERATIONS_MAX: number = limits.operations
export const AT_ONCE_STEPS: number = limits.operations
export const TURN_STEPS: number = limits.operations
export const SLICE_BYTES: number = limits.sliceBytes
export const ROOM_MAX_BYTES: number = limits.roomBytes
export const ROOM_MIN_BYTES: number = Math.min(ROOM_MAX_BYTES, usual.ROOM_MIN_BYTES)
export const FRAMES_MAX: number = limits.operations
export const CONNECTION_PARTS_MAX: number = limits.parts ?? usual.CONNECTION_PARTS_MAX
export const SOCKET_PARTS_MAX: number = limits.parts ? 2 * limits.parts : usual.SOCKET_PARTS_MAX
export const LANDING_MIN_BYTES: number = limits.largeBytes ?? usual.LANDING_MIN_BYTES
export const LANDING_BODY_BYTES: number = 2 * LANDING_MIN_BYTES
export const EXTRACTED_MIN_BYTES: number = limits.largeBytes ?? usual.EXTRACTED_MIN_BYTES
export const REFERRED_MIN_BYTES: number = limits.largeBytes ?? usual.REFERRED_MIN_BYTES
export const COPIED_BYTES: number = limits.copiedBytes ?? usual.COPIED_BYTES
export const ALL_COPIED_BYTES: number = limits.copiedBytes ?? usual.ALL_COPIED_BYTES
export const CIPHER_BYTES: number = limits.cipherBytes ?? usual.CIPHER_BYTES
