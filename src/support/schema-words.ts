/** Says in plain English what a schema expects, and what stands there instead. Pure. */

import type { z } from 'zod'
import { nearest } from './nearest.ts'

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'keys and values',
  record: 'keys and values',
}

/** For the option `error` of a parse: the message of an issue whose schema has no words for it. */
export const plainly = words(true)
/** As {@link plainly}, for what the service sent: it shows no text of it, which may name a person. */
export const plainlyOfOthers = words(false)

function words(showsText: boolean) {
  return (issue: z.core.$ZodRawIssue): string | undefined => {
    if (issue.code === 'unrecognized_keys') return `unknown key ${issue.keys.join(', ')}`
    const { input } = issue
    const expected = expectationOf(issue)
    if (expected === undefined) return undefined
    const none = showsText ? '' : ', got none'
    const got = input === undefined ? none : `, got ${shown(input, showsText)}`
    const isWord = issue.code === 'invalid_value' && typeof input === 'string'
    const near = isWord ? nearest(input, issue.values.map(String)) : undefined
    return `expected ${expected}${got}${near === undefined ? '' : `; did you mean ${near}?`}`
  }
}

function expectationOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return TYPES[issue.expected] ?? issue.expected
    case 'invalid_value':
      return issue.values.join(', ').replace(/, ([^,]*)$/, ' or $1')
    case 'too_small':
      return amountOf(issue.origin, issue.minimum, issue.inclusive ? 'or more' : 'more than')
    case 'too_big':
      return amountOf(issue.origin, issue.maximum, issue.inclusive ? 'or less' : 'less than')
    case 'invalid_format':
      return issue.format === 'email' ? 'an address such as team@example.com' : undefined
    case 'invalid_union': {
      // The message of one branch is a sentence already.
      const branches = issue.errors.flatMap(
        ([first]) => /^expected (.*?)(?:, got .*)?$/s.exec(first?.message ?? '')?.[1] ?? [],
      )
      return [...new Set(branches)].join(', or ')
    }
    case 'custom':
    case 'invalid_element':
    case 'invalid_key':
    case 'not_multiple_of':
    case 'unrecognized_keys':
      return undefined
  }
}

const UNITS: Readonly<Record<string, string>> = { string: ' characters', array: ' entries' }

function amountOf(origin: string, most: number | bigint, how: string): string {
  const limit = Number(most)
  const unit = UNITS[origin] ?? ''
  if (unit !== '' && limit === 1 && how === 'or more')
    return origin === 'string' ? 'a text that is not empty' : 'a list that is not empty'
  return how.endsWith('than') ? `${how} ${limit}${unit}` : `${limit}${unit} ${how}`
}

// A long text may be a secret in the wrong place, or the name of a person.
const SHORT = /^[\w .:@-]{1,20}$/

function shown(value: unknown, showsText: boolean): string {
  if (value === null) return 'nothing'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object') return 'keys and values'
  if (typeof value !== 'string') return `${value as number | boolean}`
  if (value === '') return 'an empty text'
  return showsText && SHORT.test(value) ? JSON.stringify(value) : 'a text'
}
