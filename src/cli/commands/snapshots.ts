/** The commands about published snapshots, and about a person wherever they are kept. */

import { EXPORT_FORMATS, PIPELINE_OPTION, wholeNumber } from '../options.ts'
import type { Declaration } from './declaration.ts'

const URL =
  'a destination (folder or s3://bucket/prefix), or one snapshot: <destination>/snapshots/<id>'

export const SNAPSHOT_COMMANDS: readonly Declaration[] = [
  {
    name: 'snapshots',
    about: 'the published snapshots: rows, bytes, what was new',
    arguments: [['[destination]', 'folder or s3://bucket/prefix; absent: that of the pipeline']],
    options: [PIPELINE_OPTION],
    import: async () => (await import('../snapshot-commands.ts')).snapshotsCommand,
  },
  {
    name: 'verify',
    about:
      'prove every byte of the journal, and a published snapshot: files, hashes, rows, Delta logs, current/',
    arguments: [['[url]', `${URL}; absent: the journal alone`]],
    options: [PIPELINE_OPTION],
    import: async () => (await import('../proof-commands.ts')).verifyCommand,
  },
  {
    name: 'restore',
    about: 'make a warehouse from a published snapshot',
    arguments: [['<url>', URL]],
    options: [PIPELINE_OPTION],
    import: async () => (await import('../proof-commands.ts')).restoreCommand,
  },
  {
    name: 'restore-journal',
    about: 'bring the journal back from its backup, and make the warehouse of it for 0 credits',
    arguments: [['[place]', 'folder or s3://bucket/prefix; absent: that of the pipelines']],
    import: async () => (await import('../restore-journal-command.ts')).restoreJournalCommand,
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
    import: async () => (await import('../forget-command.ts')).forgetCommand,
  },
  {
    name: 'export-person',
    about: 'everything that is known of a person, as JSON',
    arguments: [['<profile_id>', 'the person']],
    import: async () => (await import('../forget-command.ts')).exportPersonCommand,
  },
  {
    name: 'export',
    about: 'tables into PostgreSQL, as CSV or Parquet files, or as a DuckDB file',
    arguments: [['[table...]', 'only these; absent: all tables for analysts']],
    options: [
      [
        '--to <folder|file.duckdb|postgres://…>',
        "what is written; an earlier export there is replaced; '${JOBTIDE_PG_URL}' holds a password",
        null,
        'export',
      ],
      ['--tables <names>', 'only these, separated by commas'],
      ['--format <format>', 'of the files of a folder (default: csv)', EXPORT_FORMATS],
      ['--schema <name>', 'of PostgreSQL; made where it is missing (default: jobtide)'],
    ],
    import: async () => (await import('../export-command.ts')).exportCommand,
  },
]
