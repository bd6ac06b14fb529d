/** Every command as `--help` shows it: what it does, its arguments and options, and how their values are read. */

import { LOG_LEVELS } from '../support/logger.ts'
import {
  ageOption,
  daysOption,
  pace,
  several,
  wholeNumber,
  type Declaration,
  type Given,
  type Options,
} from './options.ts'

const PIPELINE = 'name below pipelines/, or a path'

/** How old data may be; its value is in milliseconds. */
const MAX_AGE_OPTION = {
  '--max-age <age>': [
    'maximum age of the data, such as 26h or 2d (default: any age; a missed run counts anyway)',
    ageOption,
  ],
} as const

const COMMON_OPTIONS = {
  '--json': 'print the result as one JSON document',
  '--no-color': 'no colours, even on a terminal',
  '--data-dir <folder>': 'journal and warehouse (default: JOBTIDE_DATA_DIR or ./data)',
  '--log-level <level>': [
    'JSON log lines on stderr instead of text (default: JOBTIDE_LOG, else text)',
    LOG_LEVELS,
  ],
} as const

/** The engine that builds the models; its name is that of Overrides. */
const ENGINE_OPTION = {
  '--engine <engine>': [
    'what builds the models (default: as the pipeline says)',
    ['duckdb', 'spark'],
  ],
} as const

/** Sends requests before the time that the service named; its name is that of Overrides. */
const PAUSE_OPTION = {
  '--forget-pause':
    'send requests at once, even if the service asked us to wait; doctor shows until when',
} as const

/** The options that override a pipeline file; their names are those of Overrides. */
const RUN_OPTIONS = {
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
} as const

/** Continues without lost journal segments; its name is that of Overrides. */
const LOSS_OPTION = {
  '--accept-loss':
    'continue without journal segments that are lost or damaged; their pages are bought again',
} as const

/** The options of commands that buy; the names are those of Overrides. */
const BUYING_OPTIONS = {
  ...RUN_OPTIONS,
  ...LOSS_OPTION,
  '--begin-again': 'buy everything again if the journal is gone but the warehouse exists',
} as const

/** Options that allow an otherwise refused publish; their names are those of LossChoices. */
const GUARD_OPTIONS = {
  '--adopt-destination': 'publish even if the destination shows another journal',
  '--accept-shrink': 'publish even if the snapshot holds less than the previous one',
} as const

/** Whose region, endpoint and keys a command about snapshots uses. */
const PIPELINE_OPTION = {
  '--pipeline <pipeline>': ['whose destination and S3 settings to use', null, 'nightly'],
} as const
const SNAPSHOT =
  'a destination (folder or s3://bucket/prefix), or one snapshot: <destination>/snapshots/<id>'

const WINDOW_OPTIONS = {
  '--week': 'the last whole week, Monday to Sunday (default)',
  '--days <n>': ['the last n days up to now', wholeNumber(1, 100_000)],
  '--from <date>': 'first day, such as 2026-11-01',
  '--to <date>': 'last day, included (default: now)',
  '--organizations <file>': 'only the organisations in this list',
} as const

/** In the order of "jobtide --help". */
const DECLARED = {
  demo: { about: 'try everything on this machine: no account, no network' },
  run: {
    about: 'plan, extract, load, build and publish a pipeline',
    arguments: { '<pipeline>': PIPELINE },
    options: { ...BUYING_OPTIONS, ...GUARD_OPTIONS },
  },
  backfill: {
    about: 'run a pipeline over a long window',
    arguments: { '[pipeline]': `${PIPELINE}; default: backfill` },
    options: { ...BUYING_OPTIONS, ...GUARD_OPTIONS },
  },
  schedule: {
    about: 'stay up and run each pipeline on its schedule',
    arguments: { '[pipelines...]': `${PIPELINE}; default: all in pipelines/ with a schedule` },
    options: {
      ...MAX_AGE_OPTION,
      '--health-port <n>': [
        'serve GET /health and /metrics on 127.0.0.1; 0 for any free port',
        wholeNumber(0, 65_535),
      ],
    },
  },
  plan: {
    about: 'what a run would request and cost; sends nothing without --sample',
    arguments: { '<pipeline>': PIPELINE },
    options: {
      ...RUN_OPTIONS,
      '--sample <n>': [
        'forecast from n random batches: buys them, and keeps them for the run',
        wholeNumber(2, 1e6),
      ],
    },
  },
  extract: {
    about: 'only buy the pages of a pipeline into the journal',
    arguments: { '<pipeline>': PIPELINE },
    options: { ...BUYING_OPTIONS },
  },
  load: { about: 'bring the warehouse up to date with the journal' },
  build: {
    about: 'build and check the models, and your own',
    options: {
      '--select <models...>':
        'only these: name, +name, name+, path:models; publish needs a whole build',
    },
  },
  publish: {
    about: 'publish a Parquet snapshot of the warehouse',
    options: {
      '--pipeline <pipeline>': ['whose snapshot destination to use', null, 'nightly'],
      '--snapshot-to <folder|s3://…>': 'destination of the snapshot',
      '--keep <n|rules>': 'snapshots to keep: 30, or last=7,daily=30,weekly=12,monthly=24',
      ...ENGINE_OPTION,
      '--compact': 'rewrite every file, changed or not',
      '--accept-schema-change': 'publish even if tables or columns were removed or changed type',
      ...GUARD_OPTIONS,
    },
  },
  replay: {
    about: 'rebuild the warehouse from the journal for 0 credits',
    options: {
      ...LOSS_OPTION,
      '--drop-own': 'drop your own tables and views; without it, they stop a replay',
    },
  },
  status: {
    about:
      'last runs, coverage, credits, rejects, snapshot; exits with 10 if the data is not fresh',
    arguments: { '[pipelines...]': `${PIPELINE}; default: those in pipelines/, and all that ran` },
    options: {
      ...MAX_AGE_OPTION,
      '--watch [seconds]': [
        'redraw every few seconds (default: 5) until Ctrl-C',
        wholeNumber(1, 3_600),
        null,
        'json',
      ],
    },
  },
  coverage: {
    about: 'how far each organisation was fetched, and where the gaps are',
    arguments: { '[pipeline]': `${PIPELINE}; default: all organisations ever requested` },
    options: {
      '--organizations <file>': 'use this list instead of the one in the pipeline',
      '--prove': 'list the periods not fetched, by organisation and event type',
      '--all': 'show every row',
    },
  },
  credits: {
    about: 'credits spent, on what, and what they bought',
    arguments: { '[pipeline]': `${PIPELINE}; default: all of them` },
    options: {
      '--by <what>': ['one row for each', ['day', 'month', 'pipeline', 'run', 'organization']],
      '--days <n>': ['only the last n days, today included', wholeNumber(1, 100_000)],
      '--all': 'show every row',
    },
  },
  rejects: {
    about: 'rejected events, and why',
    options: {
      '--limit <n>': ['number of events to show, newest first', wholeNumber(0, 10_000), 20],
    },
  },
  query: {
    about: 'read-only SQL on the warehouse',
    arguments: { '[words...]': 'one SQL statement; with --recipe, its parameters as name=value' },
    options: {
      '--format <format>': ['how to print', ['table', 'csv', 'spreadsheet', 'json'], 'table'],
      '--attach <[name=]file>': [
        'add your CSV, Parquet or DuckDB file as a table; repeatable',
        several,
      ],
      '--recipe <name>': 'a question that ships with Jobtide, see docs/recipes.md',
    },
  },
  models: {
    about: 'the tables: grain, rows, columns and sources',
    arguments: { '[table]': 'one table in full' },
    options: { '--html <file>': 'write everything as one HTML page, with lineage and a search' },
  },
  report: {
    about: 'one HTML page of who joined, left and was promoted, with charts',
    options: {
      ...WINDOW_OPTIONS,
      '--by <what>': [
        'a folder with an index and a small page for each organisation',
        ['organization'],
      ],
      '--out <path>': 'where to write it (default: <data-dir>/reports/<from>-to-<to>.html)',
    },
  },
  digest: {
    about: 'a summary of the report in at most 30 lines of text',
    options: {
      ...WINDOW_OPTIONS,
      '--format <format>': ['how to print', ['text', 'slack', 'email'], 'text'],
    },
  },
  titles: {
    about: 'how job titles, or changes of title, are classified',
    arguments: {
      '[file]': [
        'one title per line, or CSV with a column title, or columns previous and current; - means standard input',
        '-',
      ],
    },
    options: {
      '--format <format>': ['how to print', ['csv', 'spreadsheet', 'json'], 'csv'],
      '--ladder <name>': 'use a ladder of config/ladders.yaml in the current folder',
    },
  },
  snapshots: {
    about: 'the published snapshots: rows, bytes, what was new',
    arguments: { '[destination]': 'folder or s3://bucket/prefix; default: as the pipeline says' },
    options: { ...PIPELINE_OPTION },
  },
  verify: {
    about:
      'verify every byte of the journal, and a published snapshot: files, hashes, rows, Delta logs, current/',
    arguments: { '[url]': `${SNAPSHOT}; default: only the journal` },
    options: { ...PIPELINE_OPTION },
  },
  restore: {
    about: 'restore a warehouse from a published snapshot',
    arguments: { '<url>': SNAPSHOT },
    options: { ...PIPELINE_OPTION },
  },
  'restore-journal': {
    about: 'restore the journal from its backup and rebuild the warehouse for 0 credits',
    arguments: { '[place]': 'folder or s3://bucket/prefix; default: as the pipeline says' },
  },
  forget: {
    about:
      'erase people from journal, warehouse and snapshots; without --yes, only list what would be erased',
    arguments: { '[profile_id...]': 'the people' },
    options: {
      ...PIPELINE_OPTION,
      '--from <file>': 'file with one profile_id per line',
      '--older-than <days>': ['erase older events instead of people', wholeNumber(1, 100_000)],
      '--gone <place>': [
        'a destination of snapshots that is gone for good, with all its snapshots; repeatable',
        several,
      ],
      '--yes': 'erase, instead of only listing',
    },
  },
  'export-person': {
    about: 'everything known about a person, as JSON',
    arguments: { '<profile_id>': 'the person' },
  },
  export: {
    about: 'tables into PostgreSQL, or as CSV or Parquet files',
    arguments: { '[table...]': 'only these (default: all tables for analysts)' },
    options: {
      '--to <folder|postgres://…>': [
        "where to write; replaces an earlier export; '${JOBTIDE_PG_URL}' hides a password",
        null,
        'export',
      ],
      '--tables <names>': 'only these, separated by commas',
      '--format <format>': ['file format in a folder (default: csv)', ['csv', 'parquet']],
      '--schema <name>': 'PostgreSQL schema; created if missing (default: jobtide)',
    },
  },
  init: {
    about: 'create a folder that is ready to run, with a pipeline, your list and an example .env',
    arguments: { '[folder]': ['created if missing; existing files stay', '.'] },
    options: { '--organizations <file>': 'your list, to copy: CSV, TXT or Parquet' },
  },
  find: {
    about: 'search companies, people or posts, and write them as a list',
    arguments: {
      '<what>': 'companies, people or posts',
      '<filters...>': 'name=value, or name!=value to exclude',
    },
    options: {
      '--output <file>': 'write the results as CSV, and report changes since the previous file',
      '--pages <n>': ['maximum number of pages', wholeNumber(1, 10_000), 10],
      '--credits <n>': ['credits the search may spend; a page can cost 10', wholeNumber(10, 1e9)],
      '--refresh-days <n>': [
        'reuse an answer up to this age instead of buying it again',
        wholeNumber(0, 3650),
        1,
      ],
      '--dry-run': 'only show what the search may cost; sends nothing',
      ...PAUSE_OPTION,
    },
  },
  suggest: {
    about: 'look up filter values for "find people", for 1 credit',
    arguments: {
      '[type]': 'company, job_title, location, school, technology or function',
      '[text]': 'the first letters',
    },
    options: {
      '--filters': 'list the values of one filter, or of all; free',
      ...PAUSE_OPTION,
    },
  },
  doctor: {
    about: 'check this installation and show how to fix it; buys nothing',
    arguments: { '[pipelines...]': `${PIPELINE}; default: those in the current folder` },
  },
  simulate: {
    about: 'serve a simulator of the job-change service on this machine',
    options: {
      '--port <n>': ['port on 127.0.0.1; 0 for any free one', wholeNumber(0, 65_535), 8_787],
      '--key <key>': ['the API key to accept (a made-up one)', null, 'simulator-key'],
      '--seed <n>': ['random seed of the made-up world', wholeNumber(0, 1e9), 7],
      '--companies <n>': ['organisations in the made-up world', wholeNumber(1, 100_000), 60],
      '--events <file>': 'serve these events instead: .ndjson or .ndjson.gz',
      '--organizations-out <file>': 'write the list of organisations as CSV',
      '--rate-limit <n>': [
        'requests per second; beyond them, it answers 429',
        wholeNumber(1, 100_000),
      ],
      '--faults <file>': 'JSON array of faults: docs/simulator.md',
    },
  },
  listen: {
    about: 'receive signal deliveries until stopped; the next run loads them',
    options: {
      '--port <n>': ['port; 0 for any free one', wholeNumber(0, 65_535), 8_788],
      '--largest-mib <n>': ['largest delivery to accept, in MiB', wholeNumber(1, 256), 16],
      '--host <address>': [
        'address to listen on; any other than the default needs JOBTIDE_WEBHOOK_SECRET',
        null,
        '127.0.0.1',
      ],
      '--path <path>': ['URL path of the deliveries', null, '/signals'],
      '--signature-header <name>': [
        'the header that carries the signature',
        null,
        'x-webhook-signature',
      ],
      '--signature-encoding <encoding>': ['encoding of the signature', ['hex', 'base64'], 'hex'],
    },
  },
  schema: {
    about: 'print the JSON Schema of what --json prints',
    arguments: { '[command]': 'only this command (default: all of them)' },
  },
  completion: {
    about: 'print a script that completes commands and options in your shell',
    arguments: { '<shell>': 'bash or zsh; the first line of the script says how to use it' },
    isScript: true,
  },
} as const satisfies Readonly<Record<string, Declaration>>

export const COMMANDS: Readonly<Record<string, Declaration>> = DECLARED
export type CommandName = keyof typeof DECLARED
export type CommonOptions = Given<typeof COMMON_OPTIONS>

/** The options that the function of a command gets. */
export type OptionsOf<Name extends CommandName> = CommonOptions &
  ((typeof DECLARED)[Name] extends { readonly options: infer O } ? Given<O> : unknown)

/** All options of a command. */
export function optionsOf({ options, isScript }: Declaration): Options {
  const { '--json': json, ...common } = COMMON_OPTIONS
  return { ...options, ...(isScript ? {} : { '--json': json }), ...common }
}
