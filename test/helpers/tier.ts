/** How many rounds a suite with faults or random inputs makes: few before a merge, many at night. */

/** Whether this is `npm run test:soak`. */
export const IS_SOAK = process.env['JOBTIDE_SOAK'] === '1'

/**
 * The number of rounds of a suite: `soak` in `npm run test:soak`, else `usual`. The environment variable `name`
 * overrides both, for a long run by hand.
 */
export function rounds(name: string, usual: number, soak: number): number {
  const asked = process.env[name]
  if (asked !== undefined) return Number(asked)
  return IS_SOAK ? soak : usual
}

/**
 * The seed of a suite with random inputs: a new one for each `npm run test:soak`, which looks for unforeseen cases, and
 * otherwise always the same, so that only a change decides whether its tests pass. `name` overrides both.
 */
export function seedOf(name: string): number {
  const asked = process.env[name]
  if (asked !== undefined) return Number(asked)
  return IS_SOAK ? Math.floor(Math.random() * 2 ** 31) : 20_261_125
}
