// For captures; everybody else takes them from wire.ts.
export { HEAD_BYTES, SENTINEL_BYTES } from "./wire.js"
