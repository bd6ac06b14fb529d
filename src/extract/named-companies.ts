/**
 * Which companies a refusal speaks of. The service says in words what is wrong, and a slug may be one of these words by
 * chance ("target", "not"), so a name counts for certain only where words are not expected. Pure.
 */

import type { OrganizationRef } from '../journal/records.ts'
import { companySlug } from './company-slug.ts'

/** What a message says about companies. */
export interface NamedCompanies {
  /** To blame for certain. */
  readonly certain: readonly OrganizationRef[]
  /** Perhaps only named by chance; each is worth a test of its own. */
  readonly doubtful: readonly OrganizationRef[]
}

// "… is not tracked", "unknown company", "no such organisation": not just any message that speaks of companies.
const ABOUT_A_COMPANY =
  /\b(?:not|un)\s?tracked\b|\b(?:not|n't) track\b|(?:unknown|untracked|invalid|no such) (?:compan|organi[sz]ation)|(?:compan|organi[sz]ation)\w* (?:is |are |was |were )?(?:not |un)(?:tracked|known|found)/i

/** Whether the message says that a company is not tracked, named or not. */
export function isAboutCompany(message: string): boolean {
  return ABOUT_A_COMPANY.test(message)
}

/** The companies of a refused question that the message names. */
export function namedCompanies(
  message: string,
  organizations: readonly OrganizationRef[],
): NamedCompanies {
  const named = organizations.filter((organization) =>
    namesOf(organization).some((name) => mentions(message, name)),
  )
  if (!isAboutCompany(message)) return { certain: [], doubtful: named }
  const certain = named.filter((organization) =>
    namesOf(organization).some((name) => isMeant(message, name)),
  )
  return certain.length > 0 ? { certain, doubtful: [] } : { certain: [], doubtful: named }
}

// What such messages are made of; a company may well be called like one of them.
const VOCABULARY: ReadonlySet<string> = new Set(
  `a all an and any api are at bad be been by can cannot check code companies company could data do does error exist
  exists field filter filters find following for found from has have id ids in input invalid is it its list message
  missing must name named names no none not null of on one or organisation organisations organization organizations our
  page parameter please plan profile query refused request requested search service slug slugs some such supported that
  the their these this to track tracked tracking try unknown unsupported untracked url urls use valid value was watch we
  were with you your`.split(/\s+/),
)

function isOfMessages(name: string): boolean {
  return VOCABULARY.has(name) || /^\d{1,4}$/.test(name)
}

// As it was asked for, without what a service may leave out of a URL, and by its slug alone.
function namesOf({ value }: OrganizationRef): string[] {
  const asked = value.trim().toLowerCase()
  const bare = asked.replace(/^https?:\/\//, '').replace(/\/+$/, '')
  return [...new Set([asked, bare, companySlug(value)])].filter((name) => name !== '')
}

/** Whether a name stands where no other word would: in quotes, in a list after a colon, as the company that is untracked. */
function isMeant(message: string, name: string): boolean {
  if (listAfterColon(message).includes(name)) return true
  const isWord = /^(?:\p{L}+|\p{N}+)$/u.test(name)
  return mentionsOf(message, name).some((at) => {
    const before = message.slice(0, at)
    const after = message.slice(at + name.length)
    if (!isWord || QUOTES[before.at(-1) ?? ''] === (after[0] ?? '')) return true
    return !isOfMessages(name) && (INTRODUCES.test(before) || BLAMES.test(after))
  })
}

// "company acme …", "… not track acme"; and "acme is not …", "acme was untracked".
const INTRODUCES = /\b(?:company|companies|organi[sz]ations?|track|slugs?|ids?|urls?):?\s+$/i
const BLAMES = /^\s+(?:is|are|was|were)\s+(?:not\b|un)/i

const QUOTES: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '`': '`',
  '“': '”',
  '‘': '’',
  '«': '»',
  '<': '>',
  '(': ')',
  '[': ']',
}

/** The items of the list that ends the message, in lower case; empty when what follows the last colon is a sentence. */
function listAfterColon(message: string): string[] {
  const tail = /:\s+([^:]*(?::\/\/[^:]*)*)$/.exec(message)?.[1]
  if (tail === undefined) return []
  const items = tail
    .toLowerCase()
    .split(/\s*[,;]\s*(?:and\s+)?|\s+and\s+/)
    .map((item) => item.replaceAll(/^[\s"'`“‘«<[(]+|[\s"'`”’»>\])!.]+$/gu, ''))
    .filter((item) => item !== '')
  return items.some((item) => /\s/.test(item)) ? [] : items
}

function mentions(message: string, name: string): boolean {
  return mentionsOf(message, name).length > 0
}

/** Where a message has a name as a whole word: `acme` is not named by a message about `acme-labs`. */
function mentionsOf(message: string, name: string): number[] {
  const text = message.toLowerCase()
  const found: number[] = []
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const before = text[at - 1] ?? ' '
    const after = text.slice(at + name.length, at + name.length + 2)
    if (!/[\p{L}\p{N}_/-]/u.test(before) && !/^(?:[\p{L}\p{N}_/-]|\.[\p{L}\p{N}_])/u.test(after)) {
      found.push(at)
    }
  }
  return found
}
