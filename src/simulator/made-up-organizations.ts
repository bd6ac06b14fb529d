/** The organisations of a made-up world: names, homes and sizes from a handful of people to 50,000. */

import type { TrackedOrganization } from './events.ts'
import { BEGINNINGS, COUNTRIES, TRADES, type Country } from './made-up-words.ts'
import { hexId, logNormal, mixSeeds, pick, seededRandom, type Random } from './random.ts'

/** An organisation as the world knows it. */
export interface MadeUpOrganization {
  readonly tracked: TrackedOrganization & { readonly name: string }
  readonly home: Country
  /** People who work there: 5 to 50,000. */
  readonly size: number
}

const SMALLEST = 5
const LARGEST = 50_000
// Chosen: half of the organisations have fewer than 180 people, one in a hundred more than about 9,000.
const MEDIAN_SIZE = 180
const SIZE_SIGMA = 1.7

/** `count` organisations; the first ones are the same for every count. */
export function makeUpOrganizations(seed: number, count: number): MadeUpOrganization[] {
  const slugs = new Set<string>()
  return Array.from({ length: count }, (_, number) => {
    const random = seededRandom(mixSeeds(seed, number, 1))
    const home = pickCountry(random)
    const size = Math.round(logNormal(random, MEDIAN_SIZE, SIZE_SIGMA))
    const id = `org_${hexId(random, 16)}`
    let name = makeUpName(random, home)
    // Thousands of organisations use up the names; like the network, a number tells slugs apart.
    let slug = slugFor(name)
    for (let i = 2; slugs.has(slug); i += 1) {
      name = makeUpName(random, home)
      slug = i > 5 ? `${slugFor(name)}-${i}` : slugFor(name)
    }
    slugs.add(slug)
    const network_url = `https://network.example/company/${slug}`
    return {
      tracked: { organization_id: id, name, slug, network_url },
      home,
      size: Math.min(LARGEST, Math.max(SMALLEST, size)),
    }
  })
}

function pickCountry(random: Random): Country {
  let left = random() * 100
  return COUNTRIES.find((country) => (left -= country.share) < 0) ?? pick(random, COUNTRIES)
}

function makeUpName(random: Random, home: Country): string {
  const forms = random() < 0.5 ? home.legal_forms : []
  const name = `${pick(random, BEGINNINGS)} ${pick(random, TRADES)}`
  return forms.length === 0 ? name : `${name} ${pick(random, forms)}`
}

/** A name as it stands in a URL: lower case, no accents, words joined by hyphens. */
export function slugFor(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return plain.replaceAll(/[^\p{L}\p{N}]+/gu, '-').replaceAll(/^-|-$/g, '')
}
