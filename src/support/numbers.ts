/** Arithmetic on lists of numbers. */

/** All of `values` together; 0 for none. */
export function sum(values: readonly number[]): number {
  let total = 0
  for (const value of values) total += value
  return total
}
