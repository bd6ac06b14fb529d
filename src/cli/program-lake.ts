/** The commands that look after snapshots, and after the people in them. */

import type { Command } from 'commander'
import type { CommonOptions, Start } from './context.ts'
import type { DiffOptions } from './diff-command.ts'
import type { ForgetOptions } from './forget-command.ts'
import { addCommonOptions, wholeNumber } from './options.ts'
import type { SnapshotsOptions } from './snapshots-command.ts'
import type { VerifyOptions } from './verify-command.ts'

const URL =
  'a destination (folder or s3://bucket/prefix), or one snapshot: <destination>/snapshots/<id>'

/** Adds them to the program. */
export function addLakeCommands(program: Command, start: Start): void {
  addSnapshotCommands(program, start)
  addPersonCommands(program, start)
}

function addSnapshotCommands(program: Command, start: Start): void {
  withPipeline(program.command('snapshots'))
    .description('the published snapshots: rows, bytes, checks, coverage')
    .argument('[destination]', 'folder or s3://bucket/prefix; absent: that of the pipeline')
    .action((destination: string | undefined, options: CommonOptions & SnapshotsOptions) =>
      start(options, async (context) =>
        (await import('./snapshots-command.ts')).snapshotsCommand(context, destination, options),
      ),
    )

  withPipeline(program.command('verify'))
    .description(
      'prove every byte of the journal, and a published snapshot: files, hashes, rows, keys, Delta logs',
    )
    .argument('[url]', `${URL}; absent: the journal alone`)
    .action((url: string | undefined, options: CommonOptions & VerifyOptions) =>
      start(options, async (context) =>
        (await import('./verify-command.ts')).verifyCommand(context, url, options),
      ),
    )

  withPipeline(program.command('restore'))
    .description('make a warehouse from a published snapshot')
    .argument('<url>', URL)
    .action((url: string, options: CommonOptions & VerifyOptions) =>
      start(options, async (context) =>
        (await import('./restore-command.ts')).restoreCommand(context, url, options),
      ),
    )

  withPipeline(program.command('diff'))
    .description('what changed between two snapshots')
    .argument('<before>', URL)
    .argument('<after>', URL)
    .option('--table <name>', 'show the rows of one table')
    .option('--limit <n>', 'how many rows to show', wholeNumber(0, 1e9), 20)
    .action((before: string, after: string, options: CommonOptions & DiffOptions) =>
      start(options, async (context) =>
        (await import('./diff-command.ts')).diffCommand(context, before, after, options),
      ),
    )
}

function addPersonCommands(program: Command, start: Start): void {
  withPipeline(program.command('forget'))
    .description('erase people from journal, warehouse and snapshots; without --yes only says what')
    .argument('[profile_id...]', 'the people')
    .option('--from <file>', 'a profile_id a line')
    .option('--older-than <days>', 'events that are older, not people', wholeNumber(1, 100_000))
    .option('--yes', 'do it')
    .action((people: string[], options: CommonOptions & ForgetOptions) =>
      start(options, async (context) =>
        (await import('./forget-command.ts')).forgetCommand(context, people, options),
      ),
    )

  addCommonOptions(program.command('export-person'))
    .description('everything that is known of a person, as JSON')
    .argument('<profile_id>', 'the person')
    .action((person: string, options: CommonOptions) =>
      start(options, async (context) =>
        (await import('./export-person-command.ts')).exportPersonCommand(context, person),
      ),
    )
}

// Whose region, endpoint and keys to use.
function withPipeline(command: Command): Command {
  return addCommonOptions(command).option(
    '--pipeline <pipeline>',
    'whose destination and S3 settings to use',
    'nightly',
  )
}
