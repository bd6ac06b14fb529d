/** The commands around the pipeline. */

import { PAUSE_OPTION, wholeNumber } from '../options.ts'
import { PIPELINE, type Declaration } from './declaration.ts'

export const TOOL_COMMANDS: readonly Declaration[] = [
  {
    name: 'init',
    about: 'write a folder that works at once: a pipeline, your list, an example of .env',
    arguments: [['[folder]', 'made where it is missing; what is there stays', '.']],
    options: [['--organizations <file>', 'your list, to copy: CSV, TXT or Parquet']],
    import: async () => (await import('../init-command.ts')).initCommand,
  },
  {
    name: 'find',
    about: 'search companies, people or posts, and write them as a list',
    arguments: [
      ['<what>', 'companies, people or posts'],
      ['<filters...>', 'name=value, or name!=value to exclude'],
    ],
    options: [
      ['--output <file>', 'write what was found as CSV; says what is new against the file before'],
      ['--pages <n>', 'the most pages', wholeNumber(1, 10_000), 10],
      ['--credits <n>', 'credits it may spend', wholeNumber(1, 1e9)],
      [
        '--refresh-days <n>',
        'an answer so old, or younger, is not bought again',
        wholeNumber(0, 3650),
        1,
      ],
      ['--dry-run', 'say what it may cost; sends nothing'],
      PAUSE_OPTION,
    ],
    import: async () => (await import('../find-command.ts')).findCommand,
  },
  {
    name: 'suggest',
    about: 'what the filters of "find people" are called; 1 credit',
    arguments: [
      ['[type]', 'company, job_title, location, school, technology or function'],
      ['[text]', 'how it begins'],
    ],
    options: [
      ['--filters', 'all values of the filters that the service lists, or of one; free'],
      PAUSE_OPTION,
    ],
    import: async () => (await import('../find-command.ts')).suggestCommand,
  },
  {
    name: 'doctor',
    about: 'what is wrong with this installation, and what to do; buys nothing',
    arguments: [['[pipelines...]', `${PIPELINE}; absent: those of the current folder`]],
    import: async () => (await import('../doctor-command.ts')).doctorCommand,
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
      ['--faults <file>', 'JSON array of faults: docs/simulator.md'],
    ],
    import: async () => (await import('../simulate-command.ts')).simulateCommand,
  },
  {
    name: 'listen',
    about: 'receive what signals deliver, until it is stopped; the next run loads it',
    options: [
      ['--port <n>', 'port; 0 for any free one', wholeNumber(0, 65_535), 8_788],
      ['--largest-mib <n>', 'the largest delivery that is taken, in MiB', wholeNumber(1, 256), 16],
      [
        '--host <address>',
        'where to listen; others need JOBTIDE_WEBHOOK_SECRET',
        null,
        '127.0.0.1',
      ],
      ['--path <path>', 'where deliveries are sent to', null, '/signals'],
      [
        '--signature-header <name>',
        'the header that carries the signature',
        null,
        'x-webhook-signature',
      ],
      ['--signature-encoding <encoding>', 'how it is written', ['hex', 'base64'], 'hex'],
    ],
    import: async () => (await import('../listen-command.ts')).listenCommand,
  },
  {
    name: 'schema',
    about: 'what --json prints, as JSON Schema',
    arguments: [['[command]', 'of this command; absent: of all of them']],
    import: async () => (await import('../schema-command.ts')).schemaCommand,
  },
  {
    name: 'completion',
    about: 'a script by which your shell completes commands and options',
    arguments: [['<shell>', 'bash, zsh or fish; the first line of the script says how to use it']],
    import: async () => (await import('../completion-command.ts')).completionCommand,
  },
]
