/** Pseudo-random numbers that depend on nothing but a seed: the same seed, the same world and the same faults. */

import { sum } from '../support/numbers.ts'

/** A stream of numbers from 0 (included) to 1 (excluded). */
export type Random = () => number

/** The mulberry32 generator: 32 bits of state, enough for made-up data, unfit for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A seed from several numbers, so that each person has their own stream. */
export function mixSeeds(...parts: readonly number[]): number {
  let mixed = 0x9e3779b9
  for (const part of parts) {
    mixed = Math.imul(mixed ^ (part >>> 0), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    mixed ^= mixed >>> 16
  }
  return mixed >>> 0
}

/** One of `items`, each as likely as any other. */
export function pick<Item>(random: Random, items: readonly Item[]): Item {
  const item = items[Math.floor(random() * items.length)]
  if (item === undefined) throw new RangeError('nothing to pick from')
  return item
}

/** The name of one of `weights`, with a probability by weight. */
export function pickWeighted<Name extends string>(
  random: Random,
  weights: Readonly<Record<Name, number>>,
): Name {
  const names = Object.keys(weights) as Name[]
  return names[weightedPlace(random, Object.values(weights))] as Name
}

/** A place in `weights`, with a probability by weight. */
export function weightedPlace(random: Random, weights: readonly number[]): number {
  let left = random() * sum(weights)
  const found = weights.findIndex((weight) => (left -= weight) < 0)
  // Rounding can leave a rest.
  return found < 0 ? weights.length - 1 : found
}

/** A waiting time with this mean: how long until something that may happen at any moment. */
export function exponential(random: Random, mean: number): number {
  return -mean * Math.log(1 - random())
}

/** A log-normal number with this median; `sigma` is the spread of its logarithm. */
export function logNormal(random: Random, median: number, sigma: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return median * Math.exp(sigma * normal)
}

/** A random number written as `digits` hexadecimal digits. */
export function hexId(random: Random, digits: number): string {
  let id = ''
  while (id.length < digits) {
    id += Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')
  }
  return id.slice(0, digits)
}
