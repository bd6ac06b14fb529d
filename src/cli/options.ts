/** Options that several commands share, with the checks of their values. */

import { InvalidArgumentError, Option } from 'commander'
import type { Window } from '../plan/window.ts'
import { LOG_LEVELS } from '../support/logger.ts'
import { DAY, HOUR, MINUTE } from '../support/units.ts'
import type { Result } from './report.ts'

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
  /** The function, imported only for this command. It takes the context, the arguments and finally the options. */
  readonly import: () => Promise<(...given: never[]) => Promise<Result>>
}

export const PIPELINE = 'name below pipelines/, or a path'

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

function pace(text: string): number {
  const value = Number(text)
  if (/^\d*\.?\d+$/.test(text) && value > 0 && value <= 1_000) return value
  throw new InvalidArgumentError('Expected a number above 0 and up to 1000.')
}

function daysOption(text: string): Window {
  return text === 'all' ? 'all' : wholeNumber(1, 365, ', or all')(text)
}

const AGE = /^(\d{1,4})([mhd])$/
const AGE_UNITS = { m: MINUTE, h: HOUR, d: DAY } as const

function ageOption(text: string): number {
  const [, amount = '', unit] = AGE.exec(text) ?? []
  if (unit !== undefined) return Number(amount) * AGE_UNITS[unit as keyof typeof AGE_UNITS]
  throw new InvalidArgumentError('Expected an age such as 90m, 26h or 2d.')
}

/** How old data may be; its value is in milliseconds. */
export const MAX_AGE_OPTION: Options = {
  '--max-age <age>': [
    'maximum age of the data, such as 26h or 2d (default: any age; a missed run counts anyway)',
    ageOption,
  ],
}

const COMMON_OPTIONS: Options = {
  '--json': 'print the result as one JSON document',
  '--no-color': 'no colours, even on a terminal',
  '--data-dir <folder>': 'journal and warehouse (default: JOBTIDE_DATA_DIR or ./data)',
  '--log-level <level>': [
    'JSON log lines on stderr instead of text (default: JOBTIDE_LOG, else text)',
    LOG_LEVELS,
  ],
}

/** All options of a command. */
export function optionsOf({ options, isScript }: Declaration): Options {
  const { '--json': json = '', ...common } = COMMON_OPTIONS
  return { ...options, ...(isScript ? {} : { '--json': json }), ...common }
}

/** The engine that builds the models; its name is that of Overrides. */
export const ENGINE_OPTION: Options = {
  '--engine <engine>': [
    'what builds the models (default: as the pipeline says)',
    ['duckdb', 'spark'],
  ],
}

/** Sends requests before the time that the service named; its name is that of Overrides. */
export const PAUSE_OPTION: Options = {
  '--forget-pause':
    'send requests at once, even if the service asked us to wait; doctor shows until when',
}

/** The options that override a pipeline file; their names are those of Overrides. */
export const RUN_OPTIONS: Options = {
  '--organizations <file>': 'list of organisations: CSV, TXT or Parquet',
  '--limit <n>': ['only the first n organisations in the list', wholeNumber(1, 1e9)],
  '--days <n|all>': ['how far back: 1 to 365 days of detection time, or all', daysOption],
  '--credits <n>': ['credits the run may spend; a page costs 10', wholeNumber(10, 1e9)],
  '--requests-per-second <n>': ['maximum pace of requests', pace],
  '--concurrency <n>': ['maximum number of concurrent requests', wholeNumber(1, 32)],
  '--snapshot-to <folder|s3://…>': 'destination of the Parquet snapshot',
  '--no-publish': 'publish nothing',
  ...ENGINE_OPTION,
  ...PAUSE_OPTION,
}

/** Continues without lost journal segments; its name is that of Overrides. */
export const LOSS_OPTION: Options = {
  '--accept-loss':
    'continue without journal segments that are lost or damaged; their pages are bought again',
}

/** The options of commands that buy; the names are those of Overrides. */
export const BUYING_OPTIONS: Options = {
  ...RUN_OPTIONS,
  ...LOSS_OPTION,
  '--begin-again': 'buy everything again if the journal is gone but the warehouse exists',
}

/** Options that allow an otherwise refused publish; their names are those of LossChoices. */
export const GUARD_OPTIONS: Options = {
  '--adopt-destination': 'publish even if the destination shows another journal',
  '--accept-shrink': 'publish even if the snapshot holds less than the previous one',
}

/** Whose region, endpoint and keys a command about snapshots uses. */
export const PIPELINE_OPTION: Options = {
  '--pipeline <pipeline>': ['whose destination and S3 settings to use', null, 'nightly'],
}
