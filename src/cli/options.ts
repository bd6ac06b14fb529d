/** Options that several commands share, and the checking of their values. */

import { InvalidArgumentError, Option, type Command } from 'commander'
import type { Window } from '../plan/window.ts'
import { LOG_LEVELS } from '../support/logger.ts'

/** How `query` can print; here, so that `--help` names them without loading a database. */
export const QUERY_FORMATS = ['table', 'csv', 'json'] as const
export type QueryFormat = (typeof QUERY_FORMATS)[number]

/** How `titles` can print. */
export const TITLES_FORMATS = ['csv', 'json'] as const
export type TitlesFormat = (typeof TITLES_FORMATS)[number]

/** What `credits --by` takes. */
export const CREDIT_GROUPS = ['day', 'month', 'pipeline', 'run', 'organization'] as const
export type CreditGroup = (typeof CREDIT_GROUPS)[number]

/** Adds the options that every command has. */
export function addCommonOptions(command: Command): Command {
  return command
    .option('--json', 'print the result as one JSON document')
    .option('--data-dir <folder>', 'journal and warehouse (default: JOBTIDE_DATA_DIR or ./data)')
    .addOption(
      new Option('--log-level <level>', 'how much to log on stderr')
        .choices([...LOG_LEVELS])
        .default('warn'),
    )
}

/** Adds the options that override a pipeline file; their names are those of Overrides. */
export function addRunOptions(command: Command): Command {
  return addCommonOptions(command)
    .option('--organizations <file>', 'list of organisations: CSV, TXT or Parquet')
    .option('--limit <n>', 'only the first n organisations of the list', wholeNumber(1, 1e9))
    .option('--days <n|all>', 'how far back: 1 to 365 days of detection time, or all', daysOption)
    .option('--credits <n>', 'credits the run may spend; a page costs 10', wholeNumber(10, 1e9))
    .option('--requests-per-second <n>', 'the fastest pace', positiveNumber(1_000))
    .option('--concurrency <n>', 'requests at the same time', wholeNumber(1, 32))
    .option('--snapshot-to <folder|s3://…>', 'where the Parquet snapshot goes')
    .option('--no-publish', 'publish nothing')
}

/** Adds the option to go on without what the journal lost; its name is that of Overrides. */
export function addLossOption(command: Command): Command {
  return command.option(
    '--accept-loss',
    'go on without journal segments that are lost or damaged; what they held is bought again',
  )
}

/** Adds what lets a publish do that is refused otherwise; their names are those of LossChoices. */
export function addGuardOptions(command: Command): Command {
  return command
    .option('--adopt-destination', 'publish although the destination shows another journal')
    .option('--accept-shrink', 'publish although the snapshot holds less than the one before')
}

/** A whole number from `least` to `most`. */
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

const wholeDays = wholeNumber(1, 365)

function daysOption(text: string): Window {
  if (text === 'all') return 'all'
  try {
    return wholeDays(text)
  } catch {
    throw new InvalidArgumentError('Expected a whole number from 1 to 365, or all.')
  }
}
