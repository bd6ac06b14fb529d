/**
 * A pipeline under `schedule` on a machine whose days pass instantly: every run is a separate process; the service, the
 * webhook and the disk are real.
 */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { createContext } from '../../src/cli/context.ts'
import { streamOutput } from '../../src/cli/output.ts'
import { scheduleCommand } from '../../src/cli/schedule-command.ts'
import { createScrubber } from '../../src/support/logger.ts'
import { startMachine } from '../helpers/machine.ts'
import { parsePrometheus } from '../helpers/prometheus.ts'
import { openSite } from '../helpers/run-cli.ts'
import { smallDisk } from '../helpers/small-disk.ts'
import { startWebhook } from '../helpers/webhook.ts'

const LOOK_MS = 10

/** A pipeline under `schedule`. */
export type ScheduleSite = Awaited<ReturnType<typeof openScheduleSite>>

/**
 * Opens a site where `schedule` does not run yet.
 * @param nowMs its time, milliseconds since 1970 UTC
 */
export async function openScheduleSite(
  nowMs: number,
  { pipeline, ...world }: { companies: number; events: number; pipeline: string },
) {
  let stop = new AbortController()
  const machine = startMachine(nowMs, () => stop.abort(new Error('failed')))
  const { clock } = machine
  const hook = await startWebhook()
  const site = await openSite({ ...world, clock })
  writeFileSync(site.pipeline, pipeline)
  mkdirSync(site.dataDir)
  const disk = smallDisk(null, site.dataDir)
  const { PATH } = process.env
  const environment = {
    PATH,
    ...site.env,
    HOOK_URL: hook.url,
    // Each run begins at its own time.
    get NODE_OPTIONS() {
      return machine.nodeOptions()
    },
  }
  let upAt = nowMs
  let said = ''

  /** Keeps `schedule` up until it is stopped. */
  async function keep(): Promise<void> {
    stop = new AbortController()
    const scrubber = createScrubber()
    const stream = new PassThrough().on('data', (part: Buffer) => (said += part.toString()))
    const output = streamOutput(false, scrubber, { stdout: stream, stderr: stream }, {})
    const context = createContext(
      { dataDir: site.dataDir },
      {
        // The settings of `.env` at the start of the schedule; each run reads it again.
        environment: { ...environment, JOBTIDE_API_KEY: 'rotated' },
        startedWith: environment,
        clock,
        scrubber,
        output,
        log: null,
        logFields: {},
        random: () => 0.5,
        stop: stop.signal,
        abort: stop.signal,
      },
    )
    await scheduleCommand(context, [site.pipeline], { healthPort: 0 })
  }

  return {
    ...site,
    machine,
    hook,
    /** Null if this machine does not let us mount one. */
    disk,
    /** The output of `schedule` and its runs. */
    said: () => said,
    /** Lets time pass; `schedule` is up except while it was taken down. */
    async live(until: number): Promise<void> {
      let isOver = false
      machine.at(until, () => {
        isOver = true
        stop.abort(new Error('over'))
      })
      while (!isOver) {
        await keep()
        machine.throwIfFailed()
        if (!isOver) await machine.passUntil(upAt)
      }
    },
    /** Takes `schedule` down until then. */
    down(until: number): void {
      upAt = until
      stop.abort(new Error('down'))
    },
    /** Kills the current run after this many more requests, and calls `then`. */
    killAfter(requests: number, then: () => void = () => undefined): void {
      const asked = () => site.simulator.account().requests
      const enough = asked() + requests
      const timer = setInterval(() => {
        if (asked() < enough) return
        clearInterval(timer)
        const holder = readFileSync(join(site.dataDir, 'locks', 'holder.json'), 'utf8')
        process.kill((JSON.parse(holder) as { process: number }).process, 'SIGKILL')
        then()
      }, LOOK_MS)
    },
    /** The pipeline's current figures in `GET /metrics`. */
    async metrics() {
      const url = [...said.matchAll(/http:\/\/127\.0\.0\.1:\d+\//g)].at(-1)?.[0]
      return figuresOf(await (await fetch(`${url}metrics`)).text())
    },
    /** Its figures in metrics.prom. */
    metricsFile: () => figuresOf(readFileSync(join(site.dataDir, 'metrics.prom'), 'utf8')),
  }
}

/** Figures of the pipeline by their names. */
function figuresOf(text: string) {
  const figures = parsePrometheus(text)
  return (name: string) => figures.get(`jobtide_${name}`)?.samples.get('{pipeline="test"}') ?? NaN
}
