/** Options that several commands share, with the checks of their values. */

import { InvalidArgumentError, Option } from 'commander'
import type { Window } from '../plan/window.ts'
import { LOG_LEVELS } from '../support/logger.ts'
import { DAY, HOUR, MINUTE } from '../support/units.ts'
import type { Result } from './report.ts'

/**
 * How `query` can print, `spreadsheet` being CSV without formulas; here, so that `--help` names them without loading a
 * database.
 */
export const QUERY_FORMATS = ['table', 'csv', 'spreadsheet', 'json'] as const
export type QueryFormat = (typeof QUERY_FORMATS)[number]

export const DIGEST_FORMATS = ['text', 'slack', 'email'] as const
export type DigestFormat = (typeof DIGEST_FORMATS)[number]

export const TITLES_FORMATS = ['csv', 'spreadsheet', 'json'] as const
export type TitlesFormat = (typeof TITLES_FORMATS)[number]

/** Of the files of an `export` to a folder. */
export const EXPORT_FORMATS = ['csv', 'parquet'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

export const CREDIT_GROUPS = ['day', 'month', 'pipeline', 'run', 'organization'] as const
export type CreditGroup = (typeof CREDIT_GROUPS)[number]

/** An option: flags, description, how its value is read or which ones it has, its default, and what it excludes. */
export type OptionDeclaration = readonly [
  flags: string,
  about: string,
  values?: ((text: string, before: never) => unknown) | readonly string[] | null,
  standard?: string | number | null,
  conflicts?: string,
]

/** The declaration of a command. */
export interface Declaration {
  readonly name: string
  readonly about: string
  /** As commander writes them: `<required>`, `[optional]`, `[several...]`; description; default value. */
  readonly arguments?: readonly (readonly [name: string, about: string, standard?: string])[]
  readonly options?: readonly OptionDeclaration[]
  /** The function, imported only for this command. It takes the context, the arguments and finally the options. */
  readonly import: () => Promise<(...given: never[]) => Promise<Result>>
}

/** Marks an argument that names a pipeline. */
export const PIPELINE = 'name below pipelines/, or a path'
export function toOption([flags, about, values, standard, conflicts]: OptionDeclaration): Option {
  const option = new Option(flags, about)
  if (typeof values === 'function') option.argParser(values as (text: string) => unknown)
  else if (values) option.choices([...values])
  if (standard !== undefined && standard !== null) option.default(standard)
  return conflicts === undefined ? option : option.conflicts(conflicts)
}

/** An option that may be given several times: its values in a list. */
export function several(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() !== '' && Number.isInteger(value) && value >= least && value <= most) {
      return value
    }
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`)
  }
}

function positiveNumber(most: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() !== '' && value > 0 && value <= most) return value
    throw new InvalidArgumentError(`Expected a number above 0 and up to ${most}.`)
  }
}

function daysOption(text: string): Window {
  if (text === 'all') return 'all'
  const days = Number(text)
  if (Number.isInteger(days) && days >= 1 && days <= 365) return days
  throw new InvalidArgumentError('Expected a whole number from 1 to 365, or all.')
}

const AGE = /^(\d{1,4})([mhd])$/
const AGE_UNITS = { m: MINUTE, h: HOUR, d: DAY } as const

function ageOption(text: string): number {
  const [, amount = '', unit] = AGE.exec(text) ?? []
  if (unit !== undefined) return Number(amount) * AGE_UNITS[unit as keyof typeof AGE_UNITS]
  throw new InvalidArgumentError('Expected an age such as 90m, 26h or 2d.')
}

/** How old data may be; its value is in milliseconds. */
export const MAX_AGE_OPTION: OptionDeclaration = [
  '--max-age <age>',
  'how old the data may be, such as 26h or 2d (default: as the schedule implies)',
  ageOption,
]

export const COMMON_OPTIONS: readonly OptionDeclaration[] = [
  ['--json', 'print the result as one JSON document'],
  ['--no-color', 'no colours, even on a terminal'],
  ['--data-dir <folder>', 'journal and warehouse (default: JOBTIDE_DATA_DIR or ./data)'],
  [
    '--log-level <level>',
    'JSON log lines on stderr instead of text (default: JOBTIDE_LOG, else text)',
    LOG_LEVELS,
  ],
]

/** The engine that builds the models; its name is that of Overrides. */
export const ENGINE_OPTION: OptionDeclaration = [
  '--engine <engine>',
  'what builds the models (default: as the pipeline says)',
  ['duckdb', 'spark'],
]

/** Sends requests before the time that the service named; its name is that of Overrides. */
export const PAUSE_OPTION: OptionDeclaration = [
  '--forget-pause',
  'send requests at once, even if the service asked us to wait; doctor shows until when',
]

/** The options that override a pipeline file; their names are those of Overrides. */
export const RUN_OPTIONS: readonly OptionDeclaration[] = [
  ['--organizations <file>', 'list of organisations: CSV, TXT or Parquet'],
  ['--limit <n>', 'only the first n organisations in the list', wholeNumber(1, 1e9)],
  ['--days <n|all>', 'how far back: 1 to 365 days of detection time, or all', daysOption],
  ['--credits <n>', 'credits the run may spend; a page costs 10', wholeNumber(10, 1e9)],
  ['--requests-per-second <n>', 'maximum pace of requests', positiveNumber(1_000)],
  ['--concurrency <n>', 'maximum number of concurrent requests', wholeNumber(1, 32)],
  ['--snapshot-to <folder|s3://…>', 'destination of the Parquet snapshot'],
  ['--no-publish', 'publish nothing'],
  ENGINE_OPTION,
  PAUSE_OPTION,
]

/** Continues without lost journal segments; its name is that of Overrides. */
export const LOSS_OPTION: OptionDeclaration = [
  '--accept-loss',
  'continue without journal segments that are lost or damaged; their pages are bought again',
]

/** Begins a new journal for an existing warehouse; its name is that of Overrides. */
export const AGAIN_OPTION: OptionDeclaration = [
  '--begin-again',
  'buy everything again when the journal is gone but the warehouse exists',
]

/** Options that allow an otherwise refused publish; their names are those of LossChoices. */
export const GUARD_OPTIONS: readonly OptionDeclaration[] = [
  ['--adopt-destination', 'publish even if the destination shows another journal'],
  ['--accept-shrink', 'publish even if the snapshot holds less than the previous one'],
]

/** Whose region, endpoint and keys a command about snapshots uses. */
export const PIPELINE_OPTION: OptionDeclaration = [
  '--pipeline <pipeline>',
  'whose destination and S3 settings to use',
  null,
  'nightly',
]
