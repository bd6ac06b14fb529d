/** Durations in milliseconds and sizes in bytes. Write `5 * MINUTE`, never `300_000`. */

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
/** One day of 24 hours, in milliseconds. The service counts `days_ago` in these. */
export const DAY = 24 * HOUR
export const KIB = 1_024
export const MIB = 1_024 * KIB
export const GIB = 1_024 * MIB
