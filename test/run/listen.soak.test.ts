/** `listen` under load: 10,000 deliveries at 500 a second, some repeated, forged or truncated, and 20 kills. */

import { createHmac } from 'node:crypto'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { seededRandom } from '../../src/simulator/random.ts'
import { SECOND } from '../../src/support/units.ts'
import { done, openSite, type RunningCli } from '../helpers/run-cli.ts'
import { seedOf } from '../helpers/tier.ts'

vi.setConfig({ testTimeout: 600_000 })

const SECRET = 'a-webhook-secret-for-tests'
const DELIVERIES = 10_000
const PER_SECOND = 500
const KILLS = 20
const REPEATED = 0.1
const FORGED = 0.02
const CUT = 0.02

/** A receiver on its own port that is restarted after each kill. */
class Receiver {
  readonly #site: Pick<Awaited<ReturnType<typeof openSite>>, 'start'>
  readonly port: number
  #running: RunningCli | null = null

  constructor(site: Pick<Awaited<ReturnType<typeof openSite>>, 'start'>, port: number) {
    this.#site = site
    this.port = port
  }

  async start(): Promise<void> {
    const env = { JOBTIDE_WEBHOOK_SECRET: SECRET }
    this.#running = this.#site.start(['listen', '--port', String(this.port), '--json'], { env })
    while (!this.#running.stdout().includes('\n')) await pause(5)
  }

  async killAndStart(): Promise<void> {
    this.#running?.process.kill('SIGKILL')
    await this.#running?.ended
    await this.start()
  }

  stop(signal: NodeJS.Signals) {
    this.#running?.process.kill(signal)
    return this.#running?.ended
  }
}

const bodyOf = (id: string) =>
  JSON.stringify({
    event: 'person_activity',
    job_id: 'sig-1',
    changes: [
      {
        event_id: id,
        profile_url: 'https://network.example/in/somebody',
        signal_type: 'reaction',
        change_data: { occurred_at: '2026-01-01T00:00:00.000Z', reaction_type: 'LIKE' },
      },
    ],
  })
const signed = (body: string) => createHmac('sha256', SECRET).update(body).digest('hex')

it('keeps every acknowledged event once, every event sent until it was accepted, and no forged one', async () => {
  const site = await openSite({ companies: 2 })
  done(await site.call(['extract', site.pipeline]))
  const random = seededRandom(seedOf('JOBTIDE_LISTEN_SEED'))
  const receiver = new Receiver(site, 20_000 + Math.floor(random() * 20_000))
  onTestFinished(() => void receiver.stop('SIGKILL'))
  await receiver.start()
  const url = `http://127.0.0.1:${receiver.port}/signals`
  const acknowledged = new Set<string>()
  const forged = new Set<string>()
  const statuses = new Map<number, number>()

  const post = async (body: string, signature: string): Promise<number | null> => {
    const headers = { 'x-webhook-signature': signature }
    try {
      const answer = await fetch(url, { method: 'POST', body, headers })
      await answer.arrayBuffer()
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      return answer.status
    } catch {
      return null
    }
  }
  const deliver = async (id: string): Promise<void> => {
    const body = bodyOf(id)
    if (random() < FORGED) {
      forged.add(`forged-${id}`)
      const status = await post(bodyOf(`forged-${id}`), signed(body))
      expect(status === 401 || status === null).toBe(true)
    }
    if (random() < CUT) {
      const socket = connect(receiver.port, '127.0.0.1').on('error', () => undefined)
      socket.write(
        `POST /signals HTTP/1.1\r\nHost: x\r\nX-Webhook-Signature: ${signed(body)}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 60)}`,
      )
      setTimeout(() => socket.destroy(), 20)
    }
    const times = random() < REPEATED ? 2 : 1
    for (let sent = 0; sent < times;) {
      const status = await post(body, signed(body))
      if (status === 200) {
        acknowledged.add(id)
        sent += 1
      } else await pause(100)
    }
  }

  const deliveries: Promise<void>[] = []
  const kills: Promise<void>[] = []
  const began = performance.now()
  for (let nth = 0; nth < DELIVERIES; nth += 1) {
    deliveries.push(deliver(`event-${nth}`))
    if (nth > 0 && nth % Math.floor(DELIVERIES / (KILLS + 1)) === 0 && kills.length < KILLS) {
      kills.push(receiver.killAndStart())
    }
    const due = began + ((nth + 1) * SECOND) / PER_SECOND
    if (due > performance.now()) await pause(due - performance.now())
  }
  await Promise.all(kills)
  await Promise.all(deliveries)
  const took = (performance.now() - began) / SECOND
  expect(kills).toHaveLength(KILLS)
  // Another command may load them meanwhile.
  done(await site.call(['load']))
  await receiver.stop('SIGTERM')
  done(await site.call(['load']))
  done(await site.call(['build']))
  const [found] = await site.query(
    'select count(*) as all_rows, count(distinct event_id) as events from person_activities',
  )
  expect(acknowledged.size).toBe(DELIVERIES)
  expect(found).toEqual({ all_rows: DELIVERIES, events: DELIVERIES })
  expect(
    await site.query(`select count(*) as n from person_activities where event_id like 'forged%'`),
  ).toEqual([{ n: 0 }])
  expect(forged.size).toBeGreaterThan(100)
  const said = [...statuses].map(([status, count]) => `${count} times ${status}`).join(', ')
  process.stdout.write(`10,000 deliveries in ${took.toFixed(1)} s, 20 kills: ${said}\n`)
})

it('disconnects slow clients: with their headers after 5 s, with their body after 30 s', async () => {
  const site = await openSite({ companies: 1 })
  const receiver = new Receiver(site, 41_877)
  onTestFinished(() => void receiver.stop('SIGKILL'))
  await receiver.start()
  const closedAfter = (text: string) =>
    new Promise<number>((resolve) => {
      const began = performance.now()
      const socket = connect(receiver.port, '127.0.0.1').on('error', () => undefined)
      socket.write(text)
      socket.resume()
      socket.once('close', () => resolve((performance.now() - began) / SECOND))
    })
  const [headers, body] = await Promise.all([
    closedAfter('POST /signals HTTP/1.1\r\nHost: x\r\n'),
    closedAfter('POST /signals HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{'),
  ])
  expect(headers).toBeLessThan(8)
  expect(body).toBeGreaterThan(13)
  expect(body).toBeLessThan(33)
})
