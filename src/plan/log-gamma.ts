/** Logarithm of the gamma function, for likelihoods of counts. */

// Below this the series of Stirling is not exact enough; the recurrence of the gamma function leads above it.
const SERIES_FROM = 8

/** ln Γ(x) for x > 0, exact to about 1e-12. */
export function logGamma(x: number): number {
  let shifted = x
  let product = 1
  while (shifted < SERIES_FROM) {
    product *= shifted
    shifted += 1
  }
  const inverse = 1 / shifted
  const square = inverse * inverse
  const series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
  const stirling = (shifted - 0.5) * Math.log(shifted) - shifted + 0.5 * Math.log(2 * Math.PI)
  return stirling + series - Math.log(product)
}
