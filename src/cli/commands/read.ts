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
  ['--week', 'the last whole week, Monday to Sunday (default)'],
  ['--days <n>', 'the last n days up to now', wholeNumber(1, 100_000)],
  ['--from <date>', 'first day, such as 2026-11-01'],
  ['--to <date>', 'last day, included (default: now)'],
  ['--organizations <file>', 'only the organisations in this list'],
]

export const READ_COMMANDS: readonly Declaration[] = [
  {
    name: 'status',
    about:
      'last runs, coverage, credits, rejects, snapshot; exit 10 when not as fresh as it should be',
    arguments: [['[pipelines...]', `${PIPELINE}; default: those in pipelines/, and all that ran`]],
    options: [
      MAX_AGE_OPTION,
      [
        '--watch [seconds]',
        'redraw every few seconds (default: 5) until Ctrl-C',
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
    arguments: [['[pipeline]', `${PIPELINE}; default: all organisations ever requested`]],
    options: [
      ['--organizations <file>', 'use this list instead of the one in the pipeline'],
      ['--prove', 'list the unread intervals by organisation and event type'],
      ['--all', 'show every row'],
    ],
    import: async () => (await import('../coverage-command.ts')).coverageCommand,
  },
  {
    name: 'credits',
    about: 'credits spent, on what, and what they bought',
    arguments: [['[pipeline]', `${PIPELINE}; default: all of them`]],
    options: [
      ['--by <what>', 'one row for each', CREDIT_GROUPS],
      ['--days <n>', 'only the last n days, today included', wholeNumber(1, 100_000)],
      ['--all', 'show every row'],
    ],
    import: async () => (await import('../credits-command.ts')).creditsCommand,
  },
  {
    name: 'rejects',
    about: 'rejected events, and why',
    options: [
      ['--limit <n>', 'number of events to show, newest first', wholeNumber(0, MOST_SHOWN), 20],
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
        'add your CSV, Parquet or DuckDB file as a table; repeatable',
        several,
      ],
      ['--recipe <name>', 'a question that ships with Jobtide, see docs/recipes.md'],
    ],
    import: async () => (await import('../query-command.ts')).queryCommand,
  },
  {
    name: 'models',
    about: 'the tables: grain, rows, columns and sources',
    arguments: [['[table]', 'one table in full']],
    options: [['--html <file>', 'write everything as one HTML page, with lineage and a search']],
    import: async () => (await import('../models-command.ts')).modelsCommand,
  },
  {
    name: 'report',
    about: 'one HTML page of who joined, left and was promoted, with charts',
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
    about: 'a summary of the report in at most 30 lines of text',
    options: [...WINDOW_OPTIONS, ['--format <format>', 'how to print', DIGEST_FORMATS, 'text']],
    import: async () => (await import('../digest-command.ts')).digestCommand,
  },
  {
    name: 'titles',
    about: 'how job titles, or changes of title, are classified',
    arguments: [
      [
        '[file]',
        'one title per line, or CSV with a column title, or previous and current; - (default): standard input',
        '-',
      ],
    ],
    options: [
      ['--format <format>', 'how to print', TITLES_FORMATS, 'csv'],
      ['--ladder <name>', 'use a ladder from config/ladders.yaml'],
    ],
    import: async () => (await import('../titles-command.ts')).titlesCommand,
  },
]
