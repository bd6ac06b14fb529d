/** The commands around the pipeline. */

import { PAUSE_OPTION, wholeNumber } from '../options.ts'
import { PIPELINE, type Declaration } from './declaration.ts'

export const TOOL_COMMANDS: readonly Declaration[] = [
  {
    name: 'init',
    about: 'create a folder that is ready to run: a pipeline, your list, an example .env',
    arguments: [['[folder]', 'created if missing; existing files stay', '.']],
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
      ['--output <file>', 'write the results as CSV, and report changes since the previous file'],
      ['--pages <n>', 'maximum number of pages', wholeNumber(1, 10_000), 10],
      ['--credits <n>', 'credits it may spend', wholeNumber(1, 1e9)],
      [
        '--refresh-days <n>',
        'reuse an answer up to this age instead of buying it again',
        wholeNumber(0, 3650),
        1,
      ],
      ['--dry-run', 'show what it may cost; sends nothing'],
      PAUSE_OPTION,
    ],
    import: async () => (await import('../find-command.ts')).findCommand,
  },
  {
    name: 'suggest',
    about: 'look up filter values for "find people"; 1 credit',
    arguments: [
      ['[type]', 'company, job_title, location, school, technology or function'],
      ['[text]', 'the first letters'],
    ],
    options: [
      ['--filters', 'list the values of all filters that the service lists, or of one; free'],
      PAUSE_OPTION,
    ],
    import: async () => (await import('../find-command.ts')).suggestCommand,
  },
  {
    name: 'doctor',
    about: 'check this installation and show how to fix it; buys nothing',
    arguments: [['[pipelines...]', `${PIPELINE}; default: those in the current folder`]],
    import: async () => (await import('../doctor-command.ts')).doctorCommand,
  },
  {
    name: 'simulate',
    about: 'serve a simulator of the job-change service on this machine',
    options: [
      ['--port <n>', 'port on 127.0.0.1; 0 for any free one', wholeNumber(0, 65_535), 8_787],
      ['--key <key>', 'the API key to accept (a made-up one)', null, 'simulator-key'],
      ['--seed <n>', 'random seed of the made-up world', wholeNumber(0, 1e9), 7],
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
    about: 'receive signal deliveries until stopped; the next run loads them',
    options: [
      ['--port <n>', 'port; 0 for any free one', wholeNumber(0, 65_535), 8_788],
      ['--largest-mib <n>', 'largest delivery to accept, in MiB', wholeNumber(1, 256), 16],
      [
        '--host <address>',
        'where to listen; others need JOBTIDE_WEBHOOK_SECRET',
        null,
        '127.0.0.1',
      ],
      ['--path <path>', 'URL path of the deliveries', null, '/signals'],
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
    about: 'print the JSON Schema of what --json prints',
    arguments: [['[command]', 'only this command (default: all of them)']],
    import: async () => (await import('../schema-command.ts')).schemaCommand,
  },
  {
    name: 'completion',
    about: 'print a script that completes commands and options in your shell',
    arguments: [['<shell>', 'bash, zsh or fish; the first line of the script says how to use it']],
    import: async () => (await import('../completion-command.ts')).completionCommand,
  },
]
