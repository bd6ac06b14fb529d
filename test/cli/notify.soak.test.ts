/** What a schedule that runs each minute reports about a pipeline whose files come and go. */

import { readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { done, openSite } from '../helpers/run-cli.ts'
import { startWebhook } from '../helpers/webhook.ts'

const LINES = ['notify: { webhook: { url: "${HOOK_URL}" }, on: [failure, budget, stale, success] }']

describe('schedule', () => {
  it('reports under schedule that the list of a due pipeline is missing, and the recovery', async () => {
    const hook = await startWebhook()
    const lines = [
      'schedule: "* * * * *"',
      ...LINES.map((line) => line.replace('success', 'recovered')),
    ]
    const site = await openSite({ companies: 1, pipelineLines: lines })
    const env = { HOOK_URL: hook.url }
    done(await site.call(['extract', site.pipeline], { env }))
    const list = join(
      site.folder,
      /^organizations: (.*)$/m.exec(readFileSync(site.pipeline, 'utf8'))?.[1] ?? '',
    )
    const schedule = site.start(['schedule', site.pipeline], { env })
    await pause(5_000)
    renameSync(list, `${list}.away`)
    // The next minute is due.
    const until = async (kind: string) => {
      while (!hook.got.some(({ body }) => body['kind'] === kind)) await pause(200)
    }
    await until('failure')
    renameSync(`${list}.away`, list)
    // The schedule reads the files again after ten minutes.
    await until('recovered')
    schedule.process.kill('SIGTERM')
    const { stderr } = await schedule.ended
    expect(hook.got[0]?.body['text']).toMatch(
      /^test was due and could not run: .*there is no such file/s,
    )
    expect(stderr).toMatch(/schedule: unreadable: .*there is no such file/)
  }, 900_000)
})
