/** Every command: its name, arguments and options, and the function that is imported when it is called. */

import type { Command } from 'commander'
import { refuseFile } from '../run/data-directory.ts'
import type { CommonOptions, Start } from './context.ts'
import {
  BUYING_OPTIONS,
  ENGINE_OPTION,
  GUARD_OPTIONS,
  LOSS_OPTION,
  MAX_AGE_OPTION,
  PAUSE_OPTION,
  PIPELINE,
  PIPELINE_OPTION,
  RUN_OPTIONS,
  optionsOf,
  several,
  toOption,
  wholeNumber,
  type Declaration,
  type Options,
} from './options.ts'

const SNAPSHOT =
  'a destination (folder or s3://bucket/prefix), or one snapshot: <destination>/snapshots/<id>'

const WINDOW_OPTIONS: Options = {
  '--week': 'the last whole week, Monday to Sunday (default)',
  '--days <n>': ['the last n days up to now', wholeNumber(1, 100_000)],
  '--from <date>': 'first day, such as 2026-11-01',
  '--to <date>': 'last day, included (default: now)',
  '--organizations <file>': 'only the organisations in this list',
}

/** In the order of "jobtide --help". */
export const COMMANDS: Readonly<Record<string, Declaration>> = {
  demo: {
    about: 'try everything on this machine: no account, no network',
    import: async () => (await import('./simulator-commands.ts')).demoCommand,
  },
  run: {
    about: 'plan, extract, load, build and publish a pipeline',
    arguments: { '<pipeline>': PIPELINE },
    options: { ...BUYING_OPTIONS, ...GUARD_OPTIONS },
    import: async () => (await import('./service-commands.ts')).runCommand,
  },
  backfill: {
    about: 'run a pipeline over a long window',
    arguments: { '[pipeline]': `${PIPELINE}; default: backfill` },
    options: { ...BUYING_OPTIONS, ...GUARD_OPTIONS },
    import: async () => (await import('./service-commands.ts')).backfillCommand,
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
    import: async () => (await import('./schedule-command.ts')).scheduleCommand,
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
    import: async () => (await import('./plan-command.ts')).planCommand,
  },
  extract: {
    about: 'only buy the pages of a pipeline into the journal',
    arguments: { '<pipeline>': PIPELINE },
    options: { ...BUYING_OPTIONS },
    import: async () => (await import('./service-commands.ts')).extractCommand,
  },
  load: {
    about: 'bring the warehouse up to date with the journal',
    import: async () => (await import('./stage-commands.ts')).loadCommand,
  },
  build: {
    about: 'build and check the models, and your own',
    options: {
      '--select <models...>':
        'only these: name, +name, name+, path:models; publish needs a whole build',
    },
    import: async () => (await import('./stage-commands.ts')).buildCommand,
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
    import: async () => (await import('./stage-commands.ts')).publishCommand,
  },
  replay: {
    about: 'rebuild the warehouse from the journal for 0 credits',
    options: {
      ...LOSS_OPTION,
      '--drop-own': 'drop your own tables and views; without it, they stop a replay',
    },
    import: async () => (await import('./stage-commands.ts')).replayCommand,
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
    import: async () => (await import('./status-command.ts')).statusCommand,
  },
  coverage: {
    about: 'how far each organisation was fetched, and where the gaps are',
    arguments: { '[pipeline]': `${PIPELINE}; default: all organisations ever requested` },
    options: {
      '--organizations <file>': 'use this list instead of the one in the pipeline',
      '--prove': 'list the periods not fetched, by organisation and event type',
      '--all': 'show every row',
    },
    import: async () => (await import('./coverage-command.ts')).coverageCommand,
  },
  credits: {
    about: 'credits spent, on what, and what they bought',
    arguments: { '[pipeline]': `${PIPELINE}; default: all of them` },
    options: {
      '--by <what>': ['one row for each', ['day', 'month', 'pipeline', 'run', 'organization']],
      '--days <n>': ['only the last n days, today included', wholeNumber(1, 100_000)],
      '--all': 'show every row',
    },
    import: async () => (await import('./credits-command.ts')).creditsCommand,
  },
  rejects: {
    about: 'rejected events, and why',
    options: {
      '--limit <n>': ['number of events to show, newest first', wholeNumber(0, 10_000), 20],
    },
    import: async () => (await import('./rejects-command.ts')).rejectsCommand,
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
    import: async () => (await import('./query-command.ts')).queryCommand,
  },
  models: {
    about: 'the tables: grain, rows, columns and sources',
    arguments: { '[table]': 'one table in full' },
    options: { '--html <file>': 'write everything as one HTML page, with lineage and a search' },
    import: async () => (await import('./models-command.ts')).modelsCommand,
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
    import: async () => (await import('./report-commands.ts')).reportCommand,
  },
  digest: {
    about: 'a summary of the report in at most 30 lines of text',
    options: {
      ...WINDOW_OPTIONS,
      '--format <format>': ['how to print', ['text', 'slack', 'email'], 'text'],
    },
    import: async () => (await import('./report-commands.ts')).digestCommand,
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
    import: async () => (await import('./titles-command.ts')).titlesCommand,
  },
  snapshots: {
    about: 'the published snapshots: rows, bytes, what was new',
    arguments: { '[destination]': 'folder or s3://bucket/prefix; default: as the pipeline says' },
    options: { ...PIPELINE_OPTION },
    import: async () => (await import('./proof-commands.ts')).snapshotsCommand,
  },
  verify: {
    about:
      'verify every byte of the journal, and a published snapshot: files, hashes, rows, Delta logs, current/',
    arguments: { '[url]': `${SNAPSHOT}; default: only the journal` },
    options: { ...PIPELINE_OPTION },
    import: async () => (await import('./proof-commands.ts')).verifyCommand,
  },
  restore: {
    about: 'restore a warehouse from a published snapshot',
    arguments: { '<url>': SNAPSHOT },
    options: { ...PIPELINE_OPTION },
    import: async () => (await import('./proof-commands.ts')).restoreCommand,
  },
  'restore-journal': {
    about: 'restore the journal from its backup and rebuild the warehouse for 0 credits',
    arguments: { '[place]': 'folder or s3://bucket/prefix; default: as the pipeline says' },
    import: async () => (await import('./stage-commands.ts')).restoreJournalCommand,
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
    import: async () => (await import('./forget-command.ts')).forgetCommand,
  },
  'export-person': {
    about: 'everything known about a person, as JSON',
    arguments: { '<profile_id>': 'the person' },
    import: async () => (await import('./forget-command.ts')).exportPersonCommand,
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
    import: async () => (await import('./export-command.ts')).exportCommand,
  },
  init: {
    about: 'create a folder that is ready to run, with a pipeline, your list and an example .env',
    arguments: { '[folder]': ['created if missing; existing files stay', '.'] },
    options: { '--organizations <file>': 'your list, to copy: CSV, TXT or Parquet' },
    import: async () => (await import('./init-command.ts')).initCommand,
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
    import: async () => (await import('./find-command.ts')).findCommand,
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
    import: async () => (await import('./find-command.ts')).suggestCommand,
  },
  doctor: {
    about: 'check this installation and show how to fix it; buys nothing',
    arguments: { '[pipelines...]': `${PIPELINE}; default: those in the current folder` },
    import: async () => (await import('./doctor-command.ts')).doctorCommand,
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
    import: async () => (await import('./simulator-commands.ts')).simulateCommand,
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
    import: async () => (await import('./listen-command.ts')).listenCommand,
  },
  schema: {
    about: 'print the JSON Schema of what --json prints',
    arguments: { '[command]': 'only this command (default: all of them)' },
    import: async () => (await import('./schema-command.ts')).schemaCommand,
  },
  completion: {
    about: 'print a script that completes commands and options in your shell',
    arguments: { '<shell>': 'bash or zsh; the first line of the script says how to use it' },
    isScript: true,
    import: async () => (await import('./completion-command.ts')).completionOf(COMMANDS),
  },
}

/** Commands that use no data directory, and doctor, which says next to all else what is wrong with it. */
const WITHOUT_DATA: ReadonlySet<string> = new Set([
  'completion',
  'doctor',
  'init',
  'schema',
  'simulate',
  'titles',
])

export function addCommands(program: Command, start: Start): void {
  for (const [name, declared] of Object.entries(COMMANDS)) {
    const given = Object.entries(declared.arguments ?? {})
    const command = program.command(name).description(declared.about)
    for (const [argument, declaration] of given) {
      const [about, standard] = [declaration].flat()
      command.argument(argument, about, standard)
    }
    for (const [flags, declaration] of Object.entries(optionsOf(declared)))
      command.addOption(toOption(flags, declaration))
    command.action((...values: unknown[]) => {
      // Commander gives the arguments, then the options, then the command.
      const args = values.slice(0, -1)
      const options = args.at(-1) as CommonOptions & { readonly pipeline?: string }
      const at = given.findIndex(([argument]) => argument.includes('pipeline'))
      const pipelines = [at < 0 ? options.pipeline : args[at]].flat() as (string | undefined)[]
      return start(
        options,
        pipelines.filter((one) => one !== undefined),
        async (context) => {
          if (!WITHOUT_DATA.has(name)) refuseFile(context.directory.root)
          return (await declared.import())(...([context, ...args] as never[]))
        },
      )
    })
  }
}
