/** The commands around the pipeline. */

import { wholeNumber } from '../options.ts'
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
      ['--faults <file>', 'JSON array of faults: src/simulator/README.md'],
    ],
    import: async () => (await import('../simulate-command.ts')).simulateCommand,
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
