/** The commands that show what is there. */

import {
  CREDIT_GROUPS,
  MAX_AGE_OPTION,
  DIGEST_FORMATS,
  QUERY_FORMATS,
  TITLES_FORMATS,
  several,
  wholeNumber,
  type OptionDeclaration,
} from '../options.ts'
import { PIPELINE, MOST_SHOWN, type Declaration } from './declaration.ts'

const WINDOW_OPTIONS: readonly OptionDeclaration[] = [
  ['--week', 'the last whole week, Monday to Sunday (what it is without a choice)'],
  ['--days <n>', 'the last n days up to now', wholeNumber(1, 100_000)],
  ['--from <date>', 'from this day on, such as 2026-11-01'],
  ['--to <date>', 'up to this day, itself included; absent: up to now'],
  ['--organizations <file>', 'only what concerns the organisations of this list'],
]

export const READ_COMMANDS: readonly Declaration[] = [
  {
    name: 'status',
    about:
      'last runs, coverage, credits, rejects, snapshot; exit 10 when not as fresh as it should be',
    arguments: [['[pipelines...]', `${PIPELINE}; absent: those of pipelines/, and all that ran`]],
    options: [
      MAX_AGE_OPTION,
      [
        '--watch [seconds]',
        'draw it again every so many seconds, 5 if not given, until Ctrl-C',
        wholeNumber(1, 3_600),
        null,
        'json',
      ],
    ],
    import: async () => (await import('../status-command.ts')).statusCommand,
  },
  {
    name: 'coverage',
    about: 'how far each organisation was read, and where the gaps are',
    arguments: [['[pipeline]', `${PIPELINE}; absent: all that were asked for`]],
    options: [
      ['--organizations <file>', 'another list than that of the pipeline'],
      ['--prove', 'list what was not looked at, by organisation, event type and interval'],
      ['--all', 'show every row'],
    ],
    import: async () => (await import('../coverage-command.ts')).coverageCommand,
  },
  {
    name: 'credits',
    about: 'what was spent, on what, and what it brought',
    arguments: [['[pipeline]', `${PIPELINE}; absent: all of them`]],
    options: [
      ['--by <what>', 'a row for each', CREDIT_GROUPS],
      ['--days <n>', 'only the last n days, today included', wholeNumber(1, 100_000)],
      ['--all', 'show every row'],
    ],
    import: async () => (await import('../credits-command.ts')).creditsCommand,
  },
  {
    name: 'rejects',
    about: 'events that did not fit, and why',
    options: [
      ['--limit <n>', 'how many to show, the newest first', wholeNumber(0, MOST_SHOWN), 20],
    ],
    import: async () => (await import('../rejects-command.ts')).rejectsCommand,
  },
  {
    name: 'query',
    about: 'read-only SQL on the warehouse',
    arguments: [['[words...]', 'one SQL statement; with --recipe its parameters, name=value']],
    options: [
      ['--format <format>', 'how to print', QUERY_FORMATS, 'table'],
      [
        '--attach <[name=]file>',
        'your CSV, Parquet or DuckDB file as a table; several times',
        several,
      ],
      ['--recipe <name>', 'a question that ships with Jobtide, see docs/recipes.md'],
    ],
    import: async () => (await import('../query-command.ts')).queryCommand,
  },
  {
    name: 'models',
    about: 'the tables: what a row is, rows, columns, what each is made from',
    arguments: [['[table]', 'one table in full']],
    options: [['--html <file>', 'write all of it as one page, with lineage drawn and a search']],
    import: async () => (await import('../models-command.ts')).modelsCommand,
  },
  {
    name: 'report',
    about: 'one HTML page of who joined, left and rose, with pictures',
    options: [
      ...WINDOW_OPTIONS,
      [
        '--by <what>',
        'a folder with an index and a small page for each organisation',
        ['organization'],
      ],
      ['--out <path>', 'where to write it (default: <data-dir>/reports/<from>-to-<to>.html)'],
    ],
    import: async () => (await import('../report-command.ts')).reportCommand,
  },
  {
    name: 'digest',
    about: 'the head of such a page in at most 30 lines of text',
    options: [...WINDOW_OPTIONS, ['--format <format>', 'how to print', DIGEST_FORMATS, 'text']],
    import: async () => (await import('../digest-command.ts')).digestCommand,
  },
  {
    name: 'titles',
    about: 'how job titles, or changes of title, are understood',
    arguments: [
      [
        '[file]',
        'a title a line, or CSV with a column title, or previous and current; - or absent: standard input',
        '-',
      ],
    ],
    options: [
      ['--format <format>', 'how to print', TITLES_FORMATS, 'csv'],
      ['--ladder <name>', 'read them by a ladder of config/ladders.yaml'],
    ],
    import: async () => (await import('../titles-command.ts')).titlesCommand,
  },
]
