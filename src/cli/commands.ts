/** Every command: its name, arguments and options, and the function that is imported when it is called. */

import type { Command } from 'commander'
import type { ExitCode } from '../support/errors.ts'
import type { CommonOptions, Start } from './context.ts'
import {
  COMMON_OPTIONS,
  CREDIT_GROUPS,
  GUARD_OPTIONS,
  LOSS_OPTION,
  PIPELINE_OPTION,
  QUERY_FORMATS,
  RUN_OPTIONS,
  TITLES_FORMATS,
  toOption,
  wholeNumber,
  type OptionDeclaration,
} from './options.ts'

interface Declaration {
  readonly name: string
  readonly about: string
  /** As commander writes them: `<required>`, `[optional]`, `[several...]`; what they are; a value that stands for none. */
  readonly arguments?: readonly (readonly [name: string, about: string, standard?: string])[]
  readonly options?: readonly OptionDeclaration[]
  /** The function, imported only for this command: it takes the context, the arguments, and the options at last. */
  readonly import: () => Promise<(...given: never[]) => Promise<ExitCode>>
}

const PIPELINE = 'name below pipelines/, or a path'
const URL =
  'a destination (folder or s3://bucket/prefix), or one snapshot: <destination>/snapshots/<id>'

// A database or the SDK of S3 takes longer to import than most commands take.
const stages = () => import('./stage-commands.ts')
const runs = () => import('./service-commands.ts')

const MOST_SHOWN = 10_000

const commands: readonly Declaration[] = [
  {
    name: 'demo',
    about: 'the whole journey on this machine: no account, no network',
    import: async () => (await import('./demo-command.ts')).demoCommand,
  },
  {
    name: 'run',
    about: 'plan, extract, load, build and publish a pipeline',
    arguments: [['<pipeline>', PIPELINE]],
    options: [...RUN_OPTIONS, LOSS_OPTION, ...GUARD_OPTIONS],
    import: async () => (await runs()).runCommand,
  },
  {
    name: 'backfill',
    about: 'a run over a long window',
    arguments: [['[pipeline]', PIPELINE, 'backfill']],
    options: [...RUN_OPTIONS, LOSS_OPTION, ...GUARD_OPTIONS],
    import: async () => (await runs()).backfillCommand,
  },
  {
    name: 'plan',
    about: 'what a run would ask and cost; sends nothing without --sample',
    arguments: [['<pipeline>', PIPELINE]],
    options: [
      ...RUN_OPTIONS,
      [
        '--sample <n>',
        'forecast from n random batches: reads them, and keeps them for the run',
        wholeNumber(2, 1e6),
      ],
    ],
    import: async () => (await import('./plan-command.ts')).planCommand,
  },
  {
    name: 'extract',
    about: 'buy the pages of a pipeline into the journal, and nothing else',
    arguments: [['<pipeline>', PIPELINE]],
    options: [...RUN_OPTIONS, LOSS_OPTION],
    import: async () => (await runs()).extractCommand,
  },
  {
    name: 'load',
    about: 'bring the warehouse up to date with the journal',
    import: async () => (await stages()).loadCommand,
  },
  {
    name: 'build',
    about: 'build and check the models',
    import: async () => (await stages()).buildCommand,
  },
  {
    name: 'publish',
    about: 'publish a Parquet snapshot of the warehouse',
    options: [
      ['--pipeline <pipeline>', 'whose snapshot destination to use', null, 'nightly'],
      ['--snapshot-to <folder|s3://…>', 'where the snapshot goes'],
      ['--keep <n|rules>', 'snapshots to keep: 30, or last=7,daily=30,weekly=12,monthly=24'],
      ['--compact', 'write every table as whole files, not only what changed'],
      ['--accept-schema-change', 'publish although tables or columns went or changed type'],
      ...GUARD_OPTIONS,
    ],
    import: async () => (await stages()).publishCommand,
  },
  {
    name: 'replay',
    about: 'rebuild the warehouse from the journal for 0 credits',
    options: [LOSS_OPTION],
    import: async () => (await stages()).replayCommand,
  },
  {
    name: 'status',
    about: 'last runs, coverage, credits, rejects, snapshot',
    import: async () => (await import('./status-command.ts')).statusCommand,
  },
  {
    name: 'coverage',
    about: 'how far each organisation was read, and where the gaps are',
    arguments: [['[pipeline]', `${PIPELINE}; absent: all that were asked for`]],
    options: [
      ['--prove', 'list what was not looked at, by organisation, event type and interval'],
      ['--all', 'show every row'],
    ],
    import: async () => (await import('./coverage-command.ts')).coverageCommand,
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
    import: async () => (await import('./credits-command.ts')).creditsCommand,
  },
  {
    name: 'rejects',
    about: 'events that did not fit, and why',
    options: [
      ['--limit <n>', 'how many to show, the newest first', wholeNumber(0, MOST_SHOWN), 20],
    ],
    import: async () => (await import('./rejects-command.ts')).rejectsCommand,
  },
  {
    name: 'query',
    about: 'read-only SQL on the warehouse',
    arguments: [['<sql>', 'one SQL statement']],
    options: [['--format <format>', 'how to print', QUERY_FORMATS, 'table']],
    import: async () => (await import('./query-command.ts')).queryCommand,
  },
  {
    name: 'models',
    about: 'the tables: what a row is, rows, columns, what each is made from',
    arguments: [['[table]', 'one table in full']],
    import: async () => (await import('./models-command.ts')).modelsCommand,
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
    import: async () => (await import('./titles-command.ts')).titlesCommand,
  },
  {
    name: 'simulate',
    about: 'serve a simulator of the job-change service on this machine',
    options: [
      ['--port <n>', 'port on 127.0.0.1; 0 for any free one', wholeNumber(0, 65_535), 8_787],
      ['--key <key>', 'the key it lets in (a made-up one)', null, 'simulator-key'],
      ['--seed <n>', 'another seed, another world', wholeNumber(0, 1e9), 7],
      ['--companies <n>', 'organisations in the made-up world', wholeNumber(1, 100_000), 60],
      ['--events <file>', 'serve these events instead: .ndjson or .ndjson.gz'],
      ['--organizations-out <file>', 'write the list of organisations as CSV'],
      ['--rate-limit <n>', 'requests a second before it answers 429', wholeNumber(1, 100_000)],
      ['--faults <file>', 'JSON array of faults: src/simulator/README.md'],
    ],
    import: async () => (await import('./simulate-command.ts')).simulateCommand,
  },
  {
    name: 'snapshots',
    about: 'the published snapshots: rows, bytes, what was new',
    arguments: [['[destination]', 'folder or s3://bucket/prefix; absent: that of the pipeline']],
    options: [PIPELINE_OPTION],
    import: async () => (await import('./snapshot-commands.ts')).snapshotsCommand,
  },
  {
    name: 'verify',
    about:
      'prove every byte of the journal, and a published snapshot: files, hashes, rows, keys, Delta logs',
    arguments: [['[url]', `${URL}; absent: the journal alone`]],
    options: [PIPELINE_OPTION],
    import: async () => (await import('./proof-commands.ts')).verifyCommand,
  },
  {
    name: 'restore',
    about: 'make a warehouse from a published snapshot',
    arguments: [['<url>', URL]],
    options: [PIPELINE_OPTION],
    import: async () => (await import('./proof-commands.ts')).restoreCommand,
  },
  {
    name: 'diff',
    about: 'what changed between two snapshots',
    arguments: [
      ['<before>', URL],
      ['<after>', URL],
    ],
    options: [
      PIPELINE_OPTION,
      ['--table <name>', 'show the rows of one table'],
      ['--limit <n>', 'how many rows to show', wholeNumber(0, MOST_SHOWN), 20],
    ],
    import: async () => (await import('./snapshot-commands.ts')).diffCommand,
  },
  {
    name: 'forget',
    about: 'erase people from journal, warehouse and snapshots; without --yes only says what',
    arguments: [['[profile_id...]', 'the people']],
    options: [
      PIPELINE_OPTION,
      ['--from <file>', 'a profile_id a line'],
      ['--older-than <days>', 'events that are older, not people', wholeNumber(1, 100_000)],
      ['--yes', 'do it'],
    ],
    import: async () => (await import('./forget-command.ts')).forgetCommand,
  },
  {
    name: 'export-person',
    about: 'everything that is known of a person, as JSON',
    arguments: [['<profile_id>', 'the person']],
    import: async () => (await import('./forget-command.ts')).exportPersonCommand,
  },
]

export function addCommands(program: Command, start: Start): void {
  for (const declared of commands) {
    const command = program.command(declared.name).description(declared.about)
    for (const one of declared.arguments ?? []) command.argument(...one)
    for (const one of [...COMMON_OPTIONS, ...(declared.options ?? [])])
      command.addOption(toOption(one))
    command.action((...given: unknown[]) => {
      // Commander gives the arguments, then the options, then the command.
      const args = given.slice(0, -1)
      return start(args.at(-1) as CommonOptions, async (context) =>
        (await declared.import())(...([context, ...args] as never[])),
      )
    })
  }
}
