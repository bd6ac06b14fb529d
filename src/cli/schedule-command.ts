/**
 * `schedule`: stays up and runs each pipeline at its time. Every run is a child process of the same program: all its memory
 * is freed, its end is always an exit code, and running out of memory does not end the schedule.
 */

import { spawn } from 'node:child_process'
import { createServer, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { nextDue } from '../plan/due.ts'
import { readFreshness, type Freshness } from '../run/pipelines.ts'
import { findPipeline, pipelineFile } from '../run/pipeline-file.ts'
import { takeScheduleTurn } from '../run/lock.ts'
import { keepSchedule, scheduled } from '../run/schedule.ts'
import { onAbort } from '../support/abort.ts'
import { packageRoot } from '../support/assets.ts'
import { isoInstant, minuteText } from '../support/clock.ts'
import { ConfigError, EXIT, errorDocument, type ExitCode } from '../support/errors.ts'
import { closeServer, listenAt } from '../support/loopback.ts'
import type { Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'
import { PROMETHEUS_TYPE, metricsText, writeMetrics, type Attempt } from './metrics.ts'
import { notifyAll, notifyUnreadable } from './notify.ts'

const NO_TURN = { release: () => undefined }

const CLI = join(packageRoot, 'dist', 'cli.js')

export async function scheduleCommand(
  context: Context,
  named: readonly string[],
  options: OptionsOf<'schedule'>,
): Promise<ExitCode> {
  const { directory, clock, logger, stop, output } = context
  // Identified by file: if one is missing, Jobtide's own pipeline of that name must not replace it.
  const files = named.map((name) => pipelineFile(name) ?? name)
  const maxAgeMs = options.maxAge ?? null
  const look = () => readFreshness({ directory, clock, named: files, isTolerant: true, maxAgeMs })
  const attempts = new Map<string, Attempt>()
  const lookAndTell = () =>
    look().catch(async (error: unknown) => {
      await notifyUnreadable(context, files, error)
      throw error
    })
  const first = await lookAndTell()
  refuseNone(first, named)
  const { healthPort } = options
  const server =
    healthPort === undefined
      ? null
      : await serveHealth(healthPort, pagesOf(look, directory, attempts))
  let told = ''
  let isWaiting = false
  const unreadable = new Map<string, string | null>()
  try {
    const healthUrl = server && `${server.url}/health`
    if (healthUrl !== null) tell(context, 'health', healthUrl)
    if (output.json) output.report({ values: { pid: process.pid, healthUrl, due: dueOf(first) } })
    await keepSchedule({
      clock,
      logger,
      stop,
      look: lookAndTell,
      takeTurn: async () => {
        // Where the folder or the disk is at fault, the run says so.
        const turn = await takeScheduleTurn(directory.root).catch(() => NO_TURN)
        if (turn === null && !isWaiting) {
          tell(
            context,
            'waiting',
            `another \`jobtide schedule\` runs a pipeline in ${directory.root}`,
          )
        }
        isWaiting = turn === null
        return turn
      },
      run: async ({ name, argument }) => {
        tell(context, 'run_due', name)
        const { code, signal } = await runChild(context, argument, options)
        // The journal shows a killed run.
        if (code !== null) attempts.set(name, { exitCode: code, at: clock.now() })
        const how = code === null ? `killed by ${signal}` : `exit ${code}`
        tell(context, 'run_over', `${name}: ${how}`)
        return code === null ? 'killed' : 'ended'
      },
      onLook: async (freshness) => {
        await writeMetrics(context, () => freshness, attempts)
        await notifyAll(context, freshness)
        for (const { name, problem } of freshness.pipelines) {
          if (problem !== null && unreadable.get(name) !== problem)
            tell(context, 'unreadable', problem, 'warn')
          unreadable.set(name, problem)
        }
        const next = dueText(freshness)
        if (next !== told) tell(context, 'next_due', next)
        told = next
      },
    })
  } finally {
    await server?.close()
  }
  return EXIT.done
}

function pagesOf(
  look: () => Promise<Freshness>,
  directory: Context['directory'],
  attempts: ReadonlyMap<string, Attempt>,
) {
  return {
    // Healthy as long as this process answers: a restart fixes no data problem.
    '/live': () => Promise.resolve(Response.json({ live: true })),
    '/health': async () => healthOf(await look()),
    '/metrics': async () => {
      const headers = { 'content-type': PROMETHEUS_TYPE }
      return new Response(metricsText(await look(), directory, attempts), { headers })
    },
  }
}

function refuseNone(freshness: Freshness, named: readonly string[]): void {
  if (scheduled(freshness).length > 0) return
  for (const name of named) findPipeline(name)
  const broken = freshness.pipelines.flatMap(({ problem }) => problem ?? [])
  if (broken.length > 0) throw new ConfigError(broken.join('\n'))
  throw new ConfigError('no pipeline has a schedule', {
    hint: 'Give a file of pipelines/ a `schedule:`, such as "15 2 * * *", or name a pipeline that has one.',
  })
}

const NOTHING_SCHEDULED = {
  id: 'nothing_scheduled',
  pipeline: null,
  message: 'no pipeline has a schedule anymore',
  hint: 'Put the files back into pipelines/; they are read again every ten minutes.',
}

function healthOf(freshness: Freshness) {
  const { nowMs } = freshness
  // A pipeline that cannot be read has its own state, and perhaps a schedule.
  const areRead = freshness.pipelines.every(({ problem }) => problem === null)
  const nothing = scheduled(freshness).length === 0 && areRead ? [NOTHING_SCHEDULED] : []
  const judgements = [...freshness.judgements, ...nothing].map(
    ({ id, pipeline, message, hint }) => ({ id, pipeline, message, hint }),
  )
  const fresh = judgements.length === 0
  return Response.json({ fresh, at: new Date(nowMs), judgements }, { status: fresh ? 200 : 503 })
}

function dueOf(freshness: Freshness) {
  return scheduled(freshness).map(({ name: pipeline, schedule }) => {
    const at = schedule && nextDue(schedule, freshness.nowMs)
    return { pipeline, at: at === null ? null : isoInstant(at) }
  })
}

function dueText(freshness: Freshness): string {
  const due = dueOf(freshness).map(
    ({ pipeline, at }) =>
      `${pipeline} at ${at === null ? 'no time' : `${minuteText(Date.parse(at))} UTC`}`,
  )
  return due.join(', ') || 'nothing'
}

function tell(
  { log, output }: Context,
  event: string,
  about: string,
  level: 'info' | 'warn' = 'info',
): void {
  if (log !== null) log[level]({ about }, event)
  else if (level === 'warn') output.note(`warning: schedule: ${about}`)
  else output.note(`schedule: ${event.replaceAll('_', ' ')}: ${about}`)
}

/** Runs a pipeline in its own process, to its end. */
function runChild(
  { directory, startedWith, stop, output }: Context,
  pipeline: string,
  { logLevel }: OptionsOf<'schedule'>,
): Promise<{ readonly code: number | null; readonly signal: string | null }> {
  const level = logLevel === undefined ? [] : ['--log-level', logLevel]
  const args = [CLI, 'run', pipeline, '--data-dir', directory.root, ...level]
  // In its own process group, so that a Ctrl-C reaches it once, through this process. The schedule's stdout is unused.
  const child = spawn(process.execPath, args, {
    env: startedWith,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  createInterface({ input: child.stderr }).on('line', (line) => output.write(`${line}\n`))
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const stopListening = onAbort(stop, () => void child.kill('SIGTERM'))
  if (stop.aborted) child.kill('SIGTERM')
  return new Promise<Awaited<ReturnType<typeof runChild>>>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal }))
  }).finally(() => {
    process.removeListener('exit', kill)
    stopListening()
  })
}

/**
 * Serves `pages` by their paths on 127.0.0.1.
 * @param port 0 for any free one
 * @throws ConfigError when the port is taken
 */
export async function serveHealth(
  port: number,
  pages: Readonly<Record<string, () => Promise<Response>>>,
) {
  const known = Object.keys(pages).map((path) => `GET ${path}`)
  const refusal = (status: number, error: unknown) => Response.json({ error }, { status })
  const answer = async ({ url = '', method = '' }: IncomingMessage) => {
    const page = pages[url.split('?', 1)[0] ?? '']
    if (page === undefined) return refusal(404, known.join(', '))
    if (method !== 'GET' && method !== 'HEAD') return refusal(405, known.join(', '))
    return page().catch((error: unknown) => refusal(503, errorDocument(error)))
  }
  const server = createServer((request, response) => {
    void answer(request).then(async (page) => {
      response.writeHead(page.status, Object.fromEntries(page.headers)).end(await page.text())
    })
  })
  const url = await listenAt(server, '127.0.0.1', port)
  return { url, close: () => closeServer(server) }
}
