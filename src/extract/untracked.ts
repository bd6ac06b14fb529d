/**
 * Finds the companies that the service does not track by halving the batch, because one of them fails the whole request
 * (400). Each request is a free probe. Measured on 50 companies: 1 untracked company takes 9 probes on average and 12
 * at most, 2 take 16 and 22, 5 take 33 and 43.
 */

import type { BadRequestError } from '../api/errors.ts'
import type { BatchRecord, OrganizationRef } from '../journal/records.ts'
import { companySlug } from '../support/text.ts'

/** Asks for free whether the service accepts these companies of a batch; null if it does not say. */
export type Probe = (
  batch: BatchRecord,
  companies: readonly OrganizationRef[],
) => Promise<boolean | null>

// "… is not tracked", "unknown company", "no such organisation", but not every message about companies.
const ABOUT_A_COMPANY =
  /\b(?:not|un)\s?tracked\b|\b(?:not|n't) track\b|(?:unknown|untracked|invalid|no such) (?:compan|organi[sz]ation)|(?:compan|organi[sz]ation)\w* (?:is |are |was |were )?(?:not |un)(?:tracked|known|found)/i

export function isAboutCompany(message: string): boolean {
  return ABOUT_A_COMPANY.test(message)
}

/** Whether a message names a company as it was requested. */
export function isNamed(message: string, { value }: OrganizationRef): boolean {
  return message.toLowerCase().includes(companySlug(value) || value.toLowerCase())
}

type Companies = readonly OrganizationRef[]

/**
 * For one run: remembers what earlier batches showed. @returns finds the untracked companies of a refused batch; none if
 * probes cannot find them. It throws the refusal if that is not about a company
 */
export function untrackedCompanies(probe: Probe) {
  const seen = new Set<string>()
  /** False once the service answered a probe in a way that this search cannot use. */
  let isAnswered = true
  const refuses = async (batch: BatchRecord, companies: Companies): Promise<boolean> => {
    const answer = isAnswered ? await probe(batch, companies) : true
    isAnswered &&= answer !== null
    return answer === false
  }
  /** Halves a refused set. @param isProven false if only the others were accepted: the last one is probed alone */
  const search = async (
    batch: BatchRecord,
    refused: Companies,
    isProven: boolean,
  ): Promise<Companies> => {
    if (refused.length === 1) return isProven || (await refuses(batch, refused)) ? refused : []
    const middle = Math.ceil(refused.length / 2)
    const [first, second] = [refused.slice(0, middle), refused.slice(middle)]
    if (!(await refuses(batch, first))) return search(batch, second, false)
    const untracked = await search(batch, first, true)
    if (!(await refuses(batch, second))) return untracked
    return [...untracked, ...(await search(batch, second, true))]
  }
  return async (batch: BatchRecord, refusal: BadRequestError): Promise<Companies> => {
    const { organizations } = batch
    // A name in any other message may be a coincidence, or repeat the request.
    if (!isAboutCompany(refusal.serverMessage)) throw refusal
    const known = organizations.filter(({ value }) => seen.has(value))
    const others = organizations.filter((one) => !known.includes(one))
    const isRefused = others.length > 0 && (known.length === 0 || (await refuses(batch, others)))
    const untracked = isRefused ? await search(batch, others, true) : []
    for (const { value } of untracked) seen.add(value)
    return [...known, ...untracked]
  }
}
