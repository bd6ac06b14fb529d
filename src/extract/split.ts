/**
 * How a slice is made smaller: when the service refuses one of its companies, or when it has more pages than the
 * service counts. Pure.
 */

import type { OrganizationRef, SliceRecord } from '../journal/records.ts'

/** What becomes of a slice that the service did not accept. */
export interface Isolation {
  /** Companies that are to blame for certain. */
  readonly setAside: readonly OrganizationRef[]
  /** What is asked instead; empty when nothing is left. */
  readonly instead: readonly SliceRecord[]
}

// "… is not tracked", "unknown company", "no such organisation": not just any message that speaks of companies.
const ABOUT_A_COMPANY =
  /\b(?:not|un)\s?tracked\b|(?:unknown|untracked|invalid|no such) (?:compan|organi[sz]ation)|(?:compan|organi[sz]ation)\w* (?:is |are |was |were )?(?:not |un)(?:tracked|known|found)/i

/**
 * Finds the company that makes the service refuse a slice: by its name in the message, else by halving.
 * @returns null when the message is not about a company, so that asking again with fewer would not help
 */
export function isolate(slice: SliceRecord, message: string): Isolation | null {
  const named = slice.organizations.filter(({ value }) => mentions(message, value))
  if (named.length > 0) {
    const rest = slice.organizations.filter((organization) => !named.includes(organization))
    return { setAside: named, instead: rest.length === 0 ? [] : [part(slice, 1, rest)] }
  }
  if (!ABOUT_A_COMPANY.test(message)) return null
  return slice.organizations.length === 1
    ? { setAside: slice.organizations, instead: [] }
    : { setAside: [], instead: halve(slice) }
}

/** Two slices with half of the organisations each; the slice must have at least two. */
export function halve(slice: SliceRecord): SliceRecord[] {
  const middle = Math.ceil(slice.organizations.length / 2)
  return [
    part(slice, 1, slice.organizations.slice(0, middle)),
    part(slice, 2, slice.organizations.slice(middle)),
  ]
}

function part(
  slice: SliceRecord,
  number: number,
  organizations: readonly OrganizationRef[],
): SliceRecord {
  return { ...slice, slice_id: `${slice.slice_id}.${number}`, organizations }
}

// As a whole word: `acme` is not named by a message about `acme-labs`.
function mentions(message: string, name: string): boolean {
  const text = message.toLowerCase()
  const wanted = name.toLowerCase()
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    const before = text[at - 1] ?? ' '
    const after = text.slice(at + wanted.length, at + wanted.length + 2)
    if (!/[\w/-]/.test(before) && !/^(?:[\w/-]|\.\w)/.test(after)) return true
  }
  return false
}
