import { readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { startMailServer } from '../helpers/smtp.ts'
import { KEY, done, openSite, pipelineText } from '../helpers/run-cli.ts'
import { leaksOf } from '../helpers/canary.ts'
import { startWebhook } from '../helpers/webhook.ts'

const LINES = ['notify: { webhook: { url: "${HOOK_URL}" }, on: [failure, budget, stale, success] }']

describe('notify', () => {
  it('reports each run once, a failure with a hint; a message that the webhook refused is sent again by the next run, and the run keeps its exit code', async () => {
    const hook = await startWebhook()
    const site = await openSite({ companies: 2, pipelineLines: LINES })
    const env = { HOOK_URL: hook.url }
    const extract = (...more: string[]) =>
      site.call(['extract', site.pipeline, '--log-level', 'info', ...more], { env })

    hook.status = 500
    const budget = await extract('--credits', '10')
    expect(budget.exitCode).toBe(4)
    expect(budget.stderr).toMatch(/"msg":"not_told"/)
    expect(hook.got).toEqual([])

    hook.status = 204
    done(await extract())
    const kinds = () => hook.got.map(({ body }) => body['kind'])
    expect(kinds()).toEqual(['budget', 'success'])
    expect(hook.got[0]?.body).toMatchObject({
      pipeline: 'test',
      text: expect.stringMatching(/ended at .* with exit 4: .*budget/) as string,
      hint: expect.stringMatching(
        /^`jobtide run test` continues it with a new budget\. .* first raise `limits/,
      ) as string,
      key: hook.got[0]?.key,
    })
    done(await site.call(['status'], { env }))
    done(await extract())
    expect(kinds()).toEqual(['budget', 'success', 'success'])
    expect(new Set(hook.got.map(({ key }) => key)).size).toBe(3)

    // The key and the address are nowhere.
    expect(leaksOf(KEY, { stderr: budget.stderr }, site.folder)).toEqual([])
    expect(leaksOf('geheim-4711', { stderr: budget.stderr }, site.folder)).toEqual([])
  })

  it('reports a run that could not begin, and a missing variable only in the log', async () => {
    const hook = await startWebhook()
    const site = await openSite({ companies: 1, pipelineLines: LINES })
    const args = ['extract', site.pipeline]
    const noKey = { JOBTIDE_API_KEY: undefined, HOOK_URL: hook.url }
    expect((await site.call(args, { env: noKey })).exitCode).toBe(2)
    expect(hook.got).toMatchObject([
      {
        body: { kind: 'failure', text: expect.stringMatching(/exit 2 before it began/) as string },
      },
    ])
    const { stderr } = done(await site.call(args))
    expect(stderr).toMatch(/^jobtide: warning: not_told: notify\.webhook: HOOK_URL is not set/m)

    // `status` says it as well until a run begins; the webhook hears it once.
    const env = { HOOK_URL: hook.url }
    const status = () => site.call(['status', site.pipeline], { env })
    expect((await status()).exitCode).toBe(0)
    expect((await site.call(args, { env: noKey })).exitCode).toBe(2)
    const wrong = await status()
    expect(wrong.exitCode).toBe(10)
    expect(wrong.stdout.replaceAll(/\s+/g, ' ')).toMatch(
      /the last run of test ended at .* UTC with exit 2 before it began → `jobtide doctor` names the cause/,
    )
    done(await site.call(args, { env }))
    expect((await status()).exitCode).toBe(0)
    expect(hook.got.map(({ body }) => body['kind'])).toEqual([
      'failure',
      'success',
      'failure',
      'success',
    ])
  })

  it('reports a run whose list or file cannot be read, using the valid parts of the file', async () => {
    const hook = await startWebhook()
    const site = await openSite({ companies: 1, pipelineLines: LINES })
    const env = { HOOK_URL: hook.url }
    const fails = async () =>
      expect((await site.call(['run', site.pipeline], { env })).exitCode).toBe(2)
    const text = readFileSync(site.pipeline, 'utf8')
    writeFileSync(site.pipeline, text.replace(/^window: .*$/m, 'window: sinse-last'))
    await fails()
    writeFileSync(site.pipeline, text.replace(/^organizations: .*$/m, 'organizations: away.csv'))
    await fails()
    expect(hook.got.map(({ body }) => body['text'])).toEqual([
      expect.stringMatching(
        /^a run of test ended with exit 2 before it began: .*window: expected/s,
      ),
      expect.stringMatching(
        /^a run of test ended with exit 2 before it began: .*away\.csv: there is no such file/s,
      ),
    ])
  })

  it('reports a killed run and the next one, which could not begin, once each', async () => {
    const hook = await startWebhook()
    const slow = [{ slow: { delay_ms: 200 }, times: 'always' as const }]
    const site = await openSite({ companies: 2, pipelineLines: LINES, faults: slow })
    const env = { HOOK_URL: hook.url }
    const killed = site.start(['extract', site.pipeline], { env })
    while (site.simulator.account().requests < 2) await pause(20)
    killed.process.kill('SIGKILL')
    await killed.ended
    const noKey = { JOBTIDE_API_KEY: undefined, ...env }
    expect((await site.call(['extract', site.pipeline], { env: noKey })).exitCode).toBe(2)
    expect(hook.got.map(({ body }) => body['text'])).toEqual([
      expect.stringMatching(/was killed/),
      expect.stringMatching(/exit 2 before it began: there is no API key/),
    ])
  })

  it('reports an unreadable journal once, by run and by schedule; without `notify:`, or if the loss is accepted, sends nothing', async () => {
    const hook = await startWebhook()
    const lines = ['schedule: "15 2 * * *"', ...LINES]
    const site = await openSite({ companies: 2, pipelineLines: lines })
    const env = { HOOK_URL: hook.url }
    const call = (command: string, ...more: string[]) =>
      site.call([command, site.pipeline, ...more], { env })
    done(await call('extract'))
    const [told] = hook.got.splice(0)
    expect(told?.body['kind']).toBe('success')
    const segments = readdirSync(join(site.dataDir, 'journal'))
    const segment = segments.find((name) => name.endsWith('.journal')) ?? ''
    const path = join(site.dataDir, 'journal', segment)
    truncateSync(path, statSync(path).size - 200)

    for (const command of ['extract', 'run', 'schedule']) {
      const { exitCode, stderr } = await call(command)
      expect([exitCode, stderr]).toEqual([9, expect.not.stringContaining('not_told')])
    }
    expect(hook.got.map(({ body }) => body)).toMatchObject([
      {
        kind: 'failure',
        text: expect.stringMatching(
          /^test cannot run, because its journal cannot be read: journal segment .*; lost with it/,
        ) as string,
        hint: expect.stringMatching(/^Restore the journal from its backup/) as string,
      },
    ])
    rmSync(path)
    for (let runs = 0; runs < 2; runs += 1) expect((await call('extract')).exitCode).toBe(9)
    expect(hook.got.map(({ body }) => body['text'])).toEqual([
      expect.anything(),
      expect.stringMatching(/ is gone; lost with it/),
    ])

    const silent = join(site.folder, 'silent.yaml')
    writeFileSync(silent, pipelineText())
    const quiet = await site.call(['extract', silent], { env })
    expect([quiet.exitCode, quiet.stderr]).toEqual([9, expect.not.stringContaining('not_told')])
    const accepted = done(await call('extract', '--accept-loss'))
    expect(accepted.stderr).not.toContain('not_told')
    expect(hook.got.map(({ body }) => body['kind'])).toEqual(['failure', 'failure', 'success'])
  })

  it('mails each address once, sends refused mails with the next run, reports recovery once, and sends a heartbeat only after success', async () => {
    const hook = await startWebhook()
    let answer: Error | null = new Error('come back later')
    const server = await startMailServer(
      { allowInsecureAuth: true, onAuth: (_auth, _session, ok) => ok(null, { user: 1 }) },
      () => answer,
    )
    const site = await openSite({
      companies: 2,
      pipelineLines: [
        'notify:',
        '  webhook: { url: "${HOOK_URL}", on: [recovered] }',
        '  email: { to: [anna@example.com, team@example.com], from: jobtide@example.com }',
        '  heartbeat: "${HOOK_URL}"',
      ],
    })
    const smtp = server.url.replace('//', '//me:geheim-4711@')
    const env = { HOOK_URL: hook.url, JOBTIDE_SMTP_URL: smtp }
    const extract = (...more: string[]) => site.call(['extract', site.pipeline, ...more], { env })

    const budget = await extract('--credits', '10')
    expect(budget.exitCode).toBe(4)
    expect(budget.stderr).toMatch(/not_told: notify\.email\.to, address 2: .*come back later/)
    expect([hook.beats, hook.got, server.mails]).toEqual([0, [], []])

    answer = null
    hook.status = 500
    const good = done(await extract())
    expect(good.stderr).toMatch(/not_told: notify\.heartbeat: it answered 500/)
    hook.status = 204
    done(await extract())
    expect(server.mails.map(({ to, subject }) => `${to} ${subject}`).toSorted()).toEqual([
      'anna@example.com Jobtide test: budget',
      'anna@example.com Jobtide test: recovered',
      'team@example.com Jobtide test: budget',
      'team@example.com Jobtide test: recovered',
    ])
    expect(new Set(server.mails.map(({ id }) => id)).size).toBe(2)
    // Three attempts, and one by the next run. The webhook received no failure, and so no recovery.
    expect([hook.beats, hook.got]).toEqual([4, []])
    for (const secret of ['geheim-4711', 'anna@example.com']) {
      const outputs = { stderr: budget.stderr + good.stderr }
      expect(leaksOf(secret, outputs, join(site.folder, 'data'))).toEqual([])
    }
  })

  it('reports every change in the tables once, even if SIGKILL hit a run when the webhook had its digest', async () => {
    const hook = await startWebhook()
    const lines = ['notify: { webhook: { url: "${HOOK_URL}", on: [digest] } }']
    const site = await openSite({ companies: 2, pipelineLines: lines })
    const env = { HOOK_URL: hook.url }
    const killed = site.start(['run', site.pipeline], { env })
    hook.onPost = () => killed.process.kill('SIGKILL')
    expect((await killed.ended).signal).toBe('SIGKILL')
    hook.onPost = () => undefined
    done(await site.call(['run', site.pipeline], { env }))

    const [first, again] = hook.got
    expect(again).toEqual(first)
    expect(first?.body).toMatchObject({ kind: 'digest', pipeline: 'test' })
    const told = new Map(hook.got.map(({ key, body }) => [key, body]))
    const numbers = [...told.values()].map(
      ({ changes, more }) => (changes as readonly unknown[]).length + Number(more),
    )
    const [{ changes } = { changes: 0 }] = await site.query<{ changes: number }>(
      `select count(*)::integer as changes from (
         select is_primary from joiners union all select is_primary from leavers
         union all select is_primary from promotions) where is_primary`,
    )
    expect(changes).toBeGreaterThan(24)
    expect(numbers.reduce((sum, one) => sum + one, 0)).toBe(changes)

    const digest = async (format: string) =>
      done(await site.call(['digest', '--days', '365', '--format', format])).stdout
    const { blocks } = JSON.parse(await digest('slack')) as { readonly blocks: readonly unknown[] }
    expect(blocks.length).toBeGreaterThan(1)
    const mail = await digest('email')
    expect(mail.trimEnd().split('\n').length).toBeLessThanOrEqual(36)
    expect(mail).toMatch(
      /^job changes of [^\n]+\n\njoined: [\d,]+ \(the period before was not completely observed\)/,
    )
    const more = ['--days', '365', '--organizations', site.organizations]
    expect(done(await site.call(['digest', ...more])).stdout).toMatch(
      new RegExp(`^more +jobtide report ${more.join(' ')}$`, 'm'),
    )
    const elsewhere = ['--days', '30', '--data-dir', site.dataDir]
    expect(done(await site.call(['digest', ...elsewhere])).stdout).toMatch(
      new RegExp(`^more +jobtide report ${elsewhere.join(' ')}$`, 'm'),
    )
  })
})
