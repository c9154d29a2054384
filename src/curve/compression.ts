import { type Lz4Options, own } from "../codec/options.js"

/**
 * Changes the defaults of options for CURVE: nothing is compressed unless one of them asks for it, and
 * arenas are made only if they are asked for as well, because lengths would tell an observer about
 * content.
 */
export function underCurve<Options extends Lz4Options>(given: Options): Options {
  if (typeof given !== "object" || given === null) return given
  const { level, acceleration, dictionary, autoDictionary, arenas } = own(given)
  const isAsked =
    [level, acceleration, dictionary].some((value) => value !== undefined) ||
    (autoDictionary !== undefined && autoDictionary !== false)
  return {
    ...given,
    ...(isAsked ? {} : { level: "none" }),
    ...(arenas === undefined ? { arenas: false } : {}),
  }
}
