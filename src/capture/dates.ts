/** Conversions of dates, which read no clock. */

// biome-ignore lint/style/noRestrictedGlobals: a fake one, of tests, converts as the real one does.
const Conversions: DateConstructor = Date

/** Returns the date of milliseconds since 1970. */
export const dateOf = (milliseconds: number): InstanceType<DateConstructor> =>
  new Conversions(milliseconds)

/** Returns the milliseconds since 1970 of a date; NaN if it is none. */
export const parseDate = (text: string): number => Conversions.parse(text)
