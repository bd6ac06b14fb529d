/**
 * A data directory, and a service over HTTP that answers each request as a test says, on a clock where hours pass
 * instantly.
 */

import { setImmediate } from 'node:timers/promises'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { planCommand } from '../../src/cli/plan-command.ts'
import { runCommand } from '../../src/cli/service-commands.ts'
import { statusCommand } from '../../src/cli/status-command.ts'
import { JobtideError } from '../../src/support/errors.ts'
import { jsonOrNull } from '../../src/support/json.ts'
import { withWarehouse } from '../../src/warehouse/warehouse.ts'
import { START } from '../load/load-fixture.ts'
import type { OnEnd } from '../helpers/temporary-folder.ts'
import { ledgerSite } from './ledger-fixture.ts'

/** The answer of the service to a request. */
export type Reply = readonly [
  status: number,
  body: unknown,
  headers?: Readonly<Record<string, string>>,
]

/** A request: its path and its body. */
export interface ServedRequest {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
}

/** Opens both. @param replyTo how the service answers @param onEnd as for temporaryFolder */
export async function openService(
  replyTo: (request: ServedRequest) => Reply,
  onEnd: OnEnd = onTestFinished,
) {
  const asked: ServedRequest[] = []
  const server = createServer((request, response) => {
    void text(request).then((sent) => {
      const body = (jsonOrNull(sent) ?? {}) as ServedRequest['body']
      const one = { path: request.url ?? '', body }
      asked.push(one)
      const [status, answer, headers] = replyTo(one)
      // Each answer takes a while: no two are received at the same time.
      site.clock.nowMs += 100
      response.writeHead(status, { date: new Date(site.clock.nowMs).toUTCString(), ...headers })
      response.end(JSON.stringify(answer))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onEnd(() => void server.close())
  const site = ledgerSite(START, onEnd)
  const sleep = async (ms: number) => {
    site.clock.nowMs += ms
    await setImmediate()
  }
  Object.assign(site.clock, { sleep })
  const { port } = server.address() as AddressInfo
  const environment = {
    JOBTIDE_BASE_URL: `http://127.0.0.1:${port}`,
    JOBTIDE_API_KEY: 'simulator-key',
  }
  return {
    site,
    /** Requests since the last call. */
    requests: () => asked.splice(0),
    /** Runs a command. Its error, if any, is in `thrown`. */
    ask: async (command: Parameters<typeof site.show>[0]) => {
      const shown = await site.show(command, environment).catch((error: unknown) => {
        if (error instanceof JobtideError) return error
        throw error
      })
      const { exitCode } = shown
      return shown instanceof JobtideError
        ? { exitCode, thrown: shown.message, text: '', document: {} }
        : { exitCode, thrown: null, text: shown.text, document: shown.document }
    },
    rows: (sql: string) =>
      withWarehouse({ path: site.warehouse, mode: 'read' }, (warehouse) => warehouse.all(sql)),
  }
}

/** As {@link openService}, with commands over one pipeline. */
export async function openServed(replyTo: (request: ServedRequest) => Reply, onEnd?: OnEnd) {
  const { site, requests, ask, rows } = await openService(replyTo, onEnd)
  // A select reads a warehouse, also before the first run.
  await site.load()
  const fileOf = (lines: readonly string[]) => {
    const file = join(site.folder, 'asked.yaml')
    writeFileSync(file, ['name: asked', 'kind: collect', ...lines, ''].join('\n'))
    return file
  }
  return {
    clock: site.clock,
    folder: site.folder,
    requests,
    /** Runs a pipeline of `kind: collect` with these lines. */
    run: (...lines: readonly string[]) => ask((context) => runCommand(context, fileOf(lines), {})),
    plan: (...lines: readonly string[]) =>
      site.show((context) => planCommand(context, fileOf(lines), {})),
    status: () => site.show((context) => statusCommand(context, [], {})),
    rows,
  }
}
