/** The commands that look: at what was done, at the tables, at titles; and the simulator. */

import { Option, type Command } from 'commander'
import type { CommonOptions, Start } from './context.ts'
import type { CoverageOptions } from './coverage-command.ts'
import type { CreditsOptions } from './credits-command.ts'
import {
  CREDIT_GROUPS,
  QUERY_FORMATS,
  TITLES_FORMATS,
  addCommonOptions,
  wholeNumber,
  type QueryFormat,
  type TitlesFormat,
} from './options.ts'
import type { RejectsOptions } from './rejects-command.ts'
import type { SimulateOptions } from './simulate-command.ts'
import type { TitlesOptions } from './titles-command.ts'

/** Adds them to the program. */
export function addLookCommands(program: Command, start: Start): void {
  addLedgerCommands(program, start)
  addTableCommands(program, start)
  addSimulateCommand(program, start)
}

function addLedgerCommands(program: Command, start: Start): void {
  addCommonOptions(program.command('status'))
    .description('last runs, coverage, credits, rejects, snapshot')
    .action((options: CommonOptions) =>
      start(options, async (context) =>
        (await import('./status-command.ts')).statusCommand(context),
      ),
    )

  addCommonOptions(program.command('coverage'))
    .description('how far each organisation was read, and where the gaps are')
    .argument('[pipeline]', 'name below pipelines/, or a path; absent: all that were asked for')
    .option('--prove', 'list what was not looked at, by organisation, event type and interval')
    .option('--all', 'show every row')
    .action((pipeline: string | undefined, options: CommonOptions & CoverageOptions) =>
      start(options, async (context) =>
        (await import('./coverage-command.ts')).coverageCommand(context, pipeline, options),
      ),
    )

  addCommonOptions(program.command('credits'))
    .description('what was spent, on what, and what it brought')
    .argument('[pipeline]', 'name below pipelines/, or a path; absent: all of them')
    .addOption(new Option('--by <what>', 'a row for each').choices(CREDIT_GROUPS))
    .option('--days <n>', 'only the last n days, today included', wholeNumber(1, 100_000))
    .option('--all', 'show every row')
    .action((pipeline: string | undefined, options: CommonOptions & CreditsOptions) =>
      start(options, async (context) =>
        (await import('./credits-command.ts')).creditsCommand(context, pipeline, options),
      ),
    )

  addCommonOptions(program.command('rejects'))
    .description('events that did not fit, and why')
    .option('--limit <n>', 'how many to show, the newest first', wholeNumber(0, 1e9), 20)
    .action((options: CommonOptions & RejectsOptions) =>
      start(options, async (context) =>
        (await import('./rejects-command.ts')).rejectsCommand(context, options),
      ),
    )
}

function addTableCommands(program: Command, start: Start): void {
  addCommonOptions(program.command('query'))
    .description('read-only SQL on the warehouse')
    .argument('<sql>', 'one SQL statement')
    .addOption(
      new Option('--format <format>', 'how to print')
        .choices(QUERY_FORMATS)
        .default('table' satisfies QueryFormat),
    )
    .action((sql: string, options: CommonOptions & { format: QueryFormat }) =>
      start(options, async (context) =>
        (await import('./query-command.ts')).queryCommand(context, sql, options.format),
      ),
    )

  addCommonOptions(program.command('models'))
    .description('the tables: what a row is, rows, columns, what each is made from')
    .argument('[table]', 'one table in full')
    .action((table: string | undefined, options: CommonOptions) =>
      start(options, async (context) =>
        (await import('./models-command.ts')).modelsCommand(context, table),
      ),
    )

  addCommonOptions(program.command('titles'))
    .description('how job titles, or changes of title, are understood')
    .argument(
      '[file]',
      'a title a line, or CSV with a column title, or previous and current; - or absent: standard input',
      '-',
    )
    .addOption(
      new Option('--format <format>', 'how to print')
        .choices(TITLES_FORMATS)
        .default('csv' satisfies TitlesFormat),
    )
    .option('--ladder <name>', 'read them by a ladder of config/ladders.yaml')
    .action((file: string, options: CommonOptions & TitlesOptions) =>
      start(options, async (context) =>
        (await import('./titles-command.ts')).titlesCommand(context, file, options),
      ),
    )
}

function addSimulateCommand(program: Command, start: Start): void {
  addCommonOptions(program.command('simulate'))
    .description('serve a simulator of the job-change service on this machine')
    .option('--port <n>', 'port on 127.0.0.1; 0 for any free one', wholeNumber(0, 65_535), 8_787)
    .option('--key <key>', 'the key it lets in (a made-up one)', 'simulator-key')
    .option('--seed <n>', 'another seed, another world', wholeNumber(0, 1e9), 7)
    .option('--companies <n>', 'organisations in the made-up world', wholeNumber(1, 100_000), 60)
    .option('--events <file>', 'serve these events instead: .ndjson or .ndjson.gz')
    .option('--organizations-out <file>', 'write the list of organisations as CSV')
    .option('--rate-limit <n>', 'requests a second before it answers 429', wholeNumber(1, 100_000))
    .option('--faults <file>', 'JSON array of faults: src/simulator/README.md')
    .action((options: CommonOptions & SimulateOptions) =>
      start(options, async (context) =>
        (await import('./simulate-command.ts')).simulateCommand(context, options),
      ),
    )
}
