import { describe, expect, it } from 'vitest'
import { openSite } from '../helpers/run-cli.ts'

interface Sample {
  readonly batches: number
  readonly batches_read: number
  readonly credits_spent_now: number
  readonly expected_credits: number
  readonly credits_90_percent: { readonly low: number; readonly high: number }
  readonly credits_to_buy: number
}

describe('plan --sample', () => {
  it('reads 3 of 5 batches and projects the bill; the run that follows buys the others, and no page twice', async () => {
    const site = await openSite({ companies: 210, events: 9_000 })
    const unknown = await site.call(['plan', site.pipeline])
    expect(unknown.stdout).toMatch(/^bill +not known/m)
    const planned = await site.call(['plan', site.pipeline, '--sample', '3', '--json'])
    expect(planned.exitCode, planned.stderr).toBe(0)
    const sample = JSON.parse(planned.stdout) as Sample
    expect(sample).toMatchObject({ batches: 5, batches_read: 3 })
    expect(site.simulator.account().credits).toBe(sample.credits_spent_now)
    const { low, high } = sample.credits_90_percent
    expect(sample.expected_credits).toBe(sample.credits_spent_now + sample.credits_to_buy)

    const bought = await site.call(['extract', site.pipeline, '--json'])
    const { extract } = JSON.parse(bought.stdout) as { extract: { credits: number } }
    const { credits, charged_pages: pages } = site.simulator.account()
    expect(credits).toBe(sample.credits_spent_now + extract.credits)
    expect(low).toBeLessThanOrEqual(credits)
    expect(high).toBeGreaterThanOrEqual(credits)
    expect(pages * 10).toBe(credits)
  }, 120_000)

  it('that would cost more than the budget ends with exit 4, and keeps what it bought', async () => {
    const site = await openSite({ companies: 210, events: 9_000 })
    const args = ['plan', site.pipeline, '--sample', '3', '--credits', '50']
    const { exitCode, stderr } = await site.call(args)
    expect(exitCode, stderr).toBe(4)
    expect(site.simulator.account().credits).toBe(50)
    const { stdout } = await site.call(['plan', site.pipeline, '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ open_run: { pages_of_them_bought: 5 } })
  }, 120_000)

  it('of one batch is refused: nothing can be projected from it', async () => {
    const site = await openSite({ companies: 2, events: 10 })
    const { exitCode, stderr } = await site.call(['plan', site.pipeline, '--sample', '1'])
    expect(exitCode).toBe(2)
    expect(stderr).toContain('whole number from 2')
  })
})
