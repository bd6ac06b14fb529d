/**
 * Which office a title at the top names, so that "CEO", "President & CEO" and "Interim Chief Executive Officer" are one office,
 * and "Deputy CEO" and "CEO, EMEA" others; and whether it is held for the time being only.
 */

import { coreOf, type Job } from './core.ts'
import type { EnglishTitle } from './languages.ts'
import { phrases } from './lexicon.ts'
import { kinds, type Kind } from './roles.ts'
import type { Parts } from './words.ts'

// What people at the top are called beside their office.
const BESIDE_AN_OFFICE = new Set(['founder', 'owner', 'partner', 'president', 'chairperson'])
const DEPUTIES = new Set(['deputy', 'vice', 'assistant', 'associate'])

/**
 * The office in English words; null where the title names no job. Of several that of the chief executive counts, then the
 * first of another chief.
 */
export function officeOf(own: Parts, title: EnglishTitle, job: Job): string | null {
  const chiefs = textsOf('unit', title).filter((text) => text.startsWith('chief '))
  const others = [...job.field, ...job.words].filter((words) => !BESIDE_AN_OFFICE.has(words))
  const named =
    chiefs.find((text) => text === 'chief executive officer') ?? chiefs[0] ?? others.join(' ')
  const office = named === '' ? coreOf(job) : named
  if (office === null) return null
  const grades = [
    ...(hasGrade('regional', own) ? ['regional'] : []),
    ...(isDeputy(office, title) ? ['deputy'] : []),
  ]
  return [...grades, office, ...textsOf('place', title)].join(' ')
}

/** "Interim CEO", "Directeur général par intérim". */
export function isInterim(own: Parts): boolean {
  return hasGrade('acting', own)
}

/** @param name a grade of config/titles/levels.yaml */
function hasGrade(name: string, own: Parts): boolean {
  return own.some((words) =>
    phrases.scan(words).some(({ value }) => value?.kind === 'grade' && value.grade.name === name),
  )
}

/** "Deputy CEO", "Deputy Group CEO", "CEO adjoint", but not "CEO & Vice Chairman". */
function isDeputy(office: string, { parts }: EnglishTitle): boolean {
  const words = office.split(' ')
  return parts.some((part) =>
    part.some((word, at) => {
      if (word !== words[0]) return false
      const before = part.slice(Math.max(0, at - 2), at)
      return before.some((one) => DEPUTIES.has(one)) || part[at + words.length] === 'deputy'
    }),
  )
}

function textsOf(kind: Kind, { parts }: EnglishTitle): string[] {
  return parts.flatMap((words) =>
    kinds
      .scan(words)
      .filter(({ value }) => value === kind)
      .map(({ at, end }) => words.slice(at, end).join(' ')),
  )
}
