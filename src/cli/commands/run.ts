/** The commands that buy, load, build and publish. */

import {
  AGAIN_OPTION,
  ENGINE_OPTION,
  GUARD_OPTIONS,
  LOSS_OPTION,
  MAX_AGE_OPTION,
  RUN_OPTIONS,
  wholeNumber,
} from '../options.ts'
import { PIPELINE, type Declaration } from './declaration.ts'

// A database or the SDK of S3 takes longer to import than most commands take.
const stages = () => import('../stage-commands.ts')
const runs = () => import('../service-commands.ts')

export const RUN_COMMANDS: readonly Declaration[] = [
  {
    name: 'demo',
    about: 'try everything on this machine: no account, no network',
    import: async () => (await import('../demo-command.ts')).demoCommand,
  },
  {
    name: 'run',
    about: 'plan, extract, load, build and publish a pipeline',
    arguments: [['<pipeline>', PIPELINE]],
    options: [...RUN_OPTIONS, LOSS_OPTION, AGAIN_OPTION, ...GUARD_OPTIONS],
    import: async () => (await runs()).runCommand,
  },
  {
    name: 'backfill',
    about: 'run a pipeline over a long window',
    arguments: [['[pipeline]', PIPELINE, 'backfill']],
    options: [...RUN_OPTIONS, LOSS_OPTION, AGAIN_OPTION, ...GUARD_OPTIONS],
    import: async () => (await runs()).backfillCommand,
  },
  {
    name: 'schedule',
    about: 'stay up and run each pipeline on its schedule',
    arguments: [['[pipelines...]', `${PIPELINE}; default: all in pipelines/ with a schedule`]],
    options: [
      MAX_AGE_OPTION,
      [
        '--health-port <n>',
        'serve GET /health and /metrics on 127.0.0.1; 0 for any free port',
        wholeNumber(0, 65_535),
      ],
      ['--health-socket <path>', 'serve them on a unix socket that only this account may read'],
    ],
    import: async () => (await import('../schedule-command.ts')).scheduleCommand,
  },
  {
    name: 'plan',
    about: 'what a run would request and cost; sends nothing without --sample',
    arguments: [['<pipeline>', PIPELINE]],
    options: [
      ...RUN_OPTIONS,
      [
        '--sample <n>',
        'forecast from n random batches: reads them, and keeps them for the run',
        wholeNumber(2, 1e6),
      ],
    ],
    import: async () => (await import('../plan-command.ts')).planCommand,
  },
  {
    name: 'extract',
    about: 'only buy the pages of a pipeline into the journal',
    arguments: [['<pipeline>', PIPELINE]],
    options: [...RUN_OPTIONS, LOSS_OPTION, AGAIN_OPTION],
    import: async () => (await runs()).extractCommand,
  },
  {
    name: 'load',
    about: 'bring the warehouse up to date with the journal',
    import: async () => (await stages()).loadCommand,
  },
  {
    name: 'build',
    about: 'build and check the models, and your own',
    options: [
      [
        '--select <models...>',
        'only these: name, +name, name+, path:models; publish needs a whole build',
      ],
    ],
    import: async () => (await stages()).buildCommand,
  },
  {
    name: 'publish',
    about: 'publish a Parquet snapshot of the warehouse',
    options: [
      ['--pipeline <pipeline>', 'whose snapshot destination to use', null, 'nightly'],
      ['--snapshot-to <folder|s3://…>', 'destination of the snapshot'],
      ['--keep <n|rules>', 'snapshots to keep: 30, or last=7,daily=30,weekly=12,monthly=24'],
      ENGINE_OPTION,
      ['--compact', 'rewrite every file, changed or not'],
      ['--accept-schema-change', 'publish even if tables or columns were removed or changed type'],
      ...GUARD_OPTIONS,
    ],
    import: async () => (await stages()).publishCommand,
  },
  {
    name: 'replay',
    about: 'rebuild the warehouse from the journal for 0 credits',
    options: [
      LOSS_OPTION,
      ['--drop-own', 'drop tables and views of your own instead of copying them'],
    ],
    import: async () => (await stages()).replayCommand,
  },
]
