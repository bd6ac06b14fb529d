/** How options are declared, and how their values are read. */

import { InvalidArgumentError, Option } from 'commander'
import type { Window } from '../plan/window.ts'
import { DAY, HOUR, MINUTE } from '../support/units.ts'

/** Options by their flags: description, how its value is read or which ones it has, its default, and what it excludes. */
export type Options = Readonly<Record<string, OptionDeclaration>>
type OptionDeclaration = string | readonly [about: string, ...how: How]
type How = readonly [
  values: ((text: string, before: never) => unknown) | readonly string[] | null,
  standard?: string | number | null,
  conflicts?: string,
]

export interface Declaration {
  readonly about: string
  /** As commander writes them: `<required>`, `[optional]`, `[several...]`; description; default value. */
  readonly arguments?: Readonly<Record<string, string | readonly [about: string, standard: string]>>
  readonly options?: Options
  /** It prints a script, also for programs. */
  readonly isScript?: true
}

/** What commander makes of declared options: by their names, what was read; optional without a default. */
export type Given<O> = {
  readonly [F in keyof O & string as O[F] extends Standard ? NameOf<F> : never]: ValueOf<F, O[F]>
} & {
  readonly [F in keyof O & string as O[F] extends Standard ? never : NameOf<F>]?: ValueOf<F, O[F]>
}

type Standard = readonly [about: string, values: unknown, standard: string | number, ...unknown[]]

type NameOf<F extends string> = F extends `${infer Flag} ${string}`
  ? NameOf<Flag>
  : F extends `--no-${infer Name}`
    ? CamelCase<Name>
    : F extends `--${infer Name}`
      ? CamelCase<Name>
      : never

type CamelCase<S extends string> = S extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : S

type ValueOf<F extends string, D> =
  | (D extends readonly [string, infer Values, ...unknown[]]
      ? ReadAs<Values>
      : F extends `${string}...>`
        ? readonly string[]
        : F extends `${string} ${string}`
          ? string
          : boolean)
  // One that may be given without a value.
  | (F extends `${string} [${string}` ? true : never)

type ReadAs<Values> = Values extends (text: string, before: never) => infer Value
  ? Value
  : Values extends readonly (infer Choice)[]
    ? Choice
    : string

/** The values of an option that has only these. */
export function choicesOf(declaration: OptionDeclaration): readonly string[] {
  const [, values] = [declaration].flat() as readonly unknown[]
  return Array.isArray(values) ? (values as readonly string[]) : []
}

export function toOption(flags: string, declaration: OptionDeclaration): Option {
  const [about, values, standard, conflicts] =
    typeof declaration === 'string' ? ([declaration] as const) : declaration
  const option = new Option(flags, about)
  if (typeof values === 'function') option.argParser(values as (text: string) => unknown)
  else if (values) option.choices([...values])
  else if (option.variadic) option.argParser(several)
  else if (!option.isBoolean() && !option.negate) option.argParser(notEmpty)
  if (standard !== undefined && standard !== null) option.default(standard)
  return conflicts === undefined ? option : option.conflicts(conflicts)
}

/** An option that may be given several times: its values in a list. */
export function several(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, notEmpty(text)]
}

// The value of an unset variable, which would mean the current folder.
function notEmpty(text: string): string {
  if (text.trim() !== '') return text
  throw new InvalidArgumentError('Expected a text that is not empty.')
}

export function wholeNumber(least: number, most: number, rest = ''): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= least && value <= most) return value
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}${rest}.`)
  }
}

export function pace(text: string): number {
  const value = Number(text)
  if (/^\d*\.?\d+$/.test(text) && value > 0 && value <= 1_000) return value
  throw new InvalidArgumentError('Expected a number above 0 and up to 1000.')
}

export function daysOption(text: string): Window {
  return text === 'all' ? 'all' : wholeNumber(1, 365, ', or all')(text)
}

const AGE = /^(\d{1,4})([mhd])$/
const AGE_UNITS = { m: MINUTE, h: HOUR, d: DAY } as const

export function ageOption(text: string): number {
  const [, amount = '', unit] = AGE.exec(text) ?? []
  if (unit !== undefined) return Number(amount) * AGE_UNITS[unit as keyof typeof AGE_UNITS]
  throw new InvalidArgumentError('Expected an age such as 90m, 26h or 2d.')
}
