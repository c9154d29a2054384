export { SEED } from "../../scripts/lib/seed.mjs"
