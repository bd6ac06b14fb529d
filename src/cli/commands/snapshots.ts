/** The commands about published snapshots, and about a person wherever they are kept. */

import { EXPORT_FORMATS, PIPELINE_OPTION, wholeNumber } from '../options.ts'
import type { Declaration } from './declaration.ts'

const URL =
  'a destination (folder or s3://bucket/prefix), or one snapshot: <destination>/snapshots/<id>'

export const SNAPSHOT_COMMANDS: readonly Declaration[] = [
  {
    name: 'snapshots',
    about: 'the published snapshots: rows, bytes, what was new',
    arguments: [['[destination]', 'folder or s3://bucket/prefix; default: as the pipeline says']],
    options: [PIPELINE_OPTION],
    import: async () => (await import('../snapshot-commands.ts')).snapshotsCommand,
  },
  {
    name: 'verify',
    about:
      'verify every byte of the journal, and a published snapshot: files, hashes, rows, Delta logs, current/',
    arguments: [['[url]', `${URL}; default: only the journal`]],
    options: [PIPELINE_OPTION],
    import: async () => (await import('../proof-commands.ts')).verifyCommand,
  },
  {
    name: 'restore',
    about: 'restore a warehouse from a published snapshot',
    arguments: [['<url>', URL]],
    options: [PIPELINE_OPTION],
    import: async () => (await import('../proof-commands.ts')).restoreCommand,
  },
  {
    name: 'restore-journal',
    about: 'restore the journal from its backup and rebuild the warehouse for 0 credits',
    arguments: [['[place]', 'folder or s3://bucket/prefix; default: as the pipeline says']],
    import: async () => (await import('../restore-journal-command.ts')).restoreJournalCommand,
  },
  {
    name: 'forget',
    about:
      'erase people from journal, warehouse and snapshots; without --yes, only list what would go',
    arguments: [['[profile_id...]', 'the people']],
    options: [
      PIPELINE_OPTION,
      ['--from <file>', 'file with one profile_id per line'],
      ['--older-than <days>', 'erase older events instead of people', wholeNumber(1, 100_000)],
      ['--yes', 'do it'],
    ],
    import: async () => (await import('../forget-command.ts')).forgetCommand,
  },
  {
    name: 'export-person',
    about: 'everything known about a person, as JSON',
    arguments: [['<profile_id>', 'the person']],
    import: async () => (await import('../forget-command.ts')).exportPersonCommand,
  },
  {
    name: 'export',
    about: 'tables into PostgreSQL, as CSV or Parquet files, or as a DuckDB file',
    arguments: [['[table...]', 'only these (default: all tables for analysts)']],
    options: [
      [
        '--to <folder|file.duckdb|postgres://…>',
        "target, which replaces an earlier export there; '${JOBTIDE_PG_URL}' holds a password",
        null,
        'export',
      ],
      ['--tables <names>', 'only these, separated by commas'],
      ['--format <format>', 'file format in a folder (default: csv)', EXPORT_FORMATS],
      ['--schema <name>', 'PostgreSQL schema; created if missing (default: jobtide)'],
    ],
    import: async () => (await import('../export-command.ts')).exportCommand,
  },
]
