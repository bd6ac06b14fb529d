/** Durations in milliseconds and sizes in bytes. Write `5 * MINUTE`, never `300_000`. */

/** One second, in milliseconds. */
export const SECOND = 1_000
/** One minute, in milliseconds. */
export const MINUTE = 60 * SECOND
/** One hour, in milliseconds. */
export const HOUR = 60 * MINUTE
/** One day of 24 hours, in milliseconds. The service counts `days_ago` in these. */
export const DAY = 24 * HOUR
/** One kibibyte, in bytes. */
export const KIB = 1_024
/** One mebibyte, in bytes. */
export const MIB = 1_024 * KIB
/** One gibibyte, in bytes. */
export const GIB = 1_024 * MIB
