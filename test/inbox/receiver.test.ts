/** The receiver of deliveries: what it accepts and refuses, and that everything it acknowledges is on the disk. */

import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  deliveriesIn,
  filesOfInbox,
  openInbox,
  openRefusals,
  readRefused,
} from '../../src/inbox/inbox.ts'
import { createReceiver, type ReceiverOptions } from '../../src/inbox/receiver.ts'
import { realClock } from '../../src/support/clock.ts'
import { closeServer, listenAt } from '../../src/support/loopback.ts'
import { Secret } from '../../src/support/secret.ts'
import { MIB } from '../../src/support/units.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { handClock } from '../load/load-fixture.ts'

const SECRET = 'a-secret-for-tests'
const DELIVERY = '{"event":"person_activity","job_id":"sig-1","changes":[]}'

async function receiving(options: Partial<ReceiverOptions> = {}) {
  const folder = join(temporaryFolder(), 'inbox')
  const inbox = openInbox(folder, realClock)
  const server = createReceiver({ inbox, path: '/signals', ...options })
  const url = await listenAt(server, '127.0.0.1', 0)
  onTestFinished(() => closeServer(server))
  const post = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
    fetch(`${url}/signals`, { method: 'POST', body, headers })
  const kept = () => filesOfInbox(folder).flatMap((file) => deliveriesIn(file))
  return { url, folder, post, kept }
}

const signedWith = (encoding: 'hex' | 'base64', header = 'x-webhook-signature') => ({
  signature: { secret: new Secret(SECRET), header, encoding },
})
const signatureOf = (body: string, encoding: 'hex' | 'base64' = 'hex') =>
  createHmac('sha256', SECRET).update(body).digest(encoding)

describe('a receiver', () => {
  it('answers 200 to a delivery once it is stored, byte for byte, whatever its event', async () => {
    const { post, kept } = await receiving()
    for (const body of [
      DELIVERY,
      '{ "event": "unheard_of", "text": "Zoë \\ud83d\\ude00 \\u0000" }',
    ]) {
      expect((await post(body)).status).toBe(200)
      expect(kept().at(-1)?.body).toBe(body)
    }
    expect(kept()).toHaveLength(2)
  })

  it('keeps 200 simultaneous deliveries once each, in fewer files', async () => {
    const { post, kept, folder } = await receiving()
    const bodies = Array.from({ length: 200 }, (_, nth) => JSON.stringify({ event: 'x', nth }))
    const answers = await Promise.all(bodies.map((body) => post(body)))
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    expect(
      kept()
        .map(({ body }) => body)
        .toSorted(),
    ).toEqual(bodies.toSorted())
    expect(new Set(kept().map(({ id }) => id)).size).toBe(200)
    expect(filesOfInbox(folder).length).toBeLessThan(200)
  })

  it.each([
    ['no JSON', 'hello'],
    ['a list', '[]'],
    ['nothing', ''],
    ['a number', '7'],
    ['JSON that is cut', '{"event":"person_act'],
    ['no UTF-8', Uint8Array.of(0x7b, 0xff, 0x7d)],
  ])('answers 400 to %s, and keeps nothing', async (_, body) => {
    const { post, kept } = await receiving()
    expect((await post(body)).status).toBe(400)
    expect(kept()).toEqual([])
  })

  it('answers 404 elsewhere, 405 to another method, and 200 to GET /health', async () => {
    const { url, kept } = await receiving()
    expect((await fetch(`${url}/`, { method: 'POST', body: DELIVERY })).status).toBe(404)
    const got = await fetch(`${url}/signals`)
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST /signals, GET /health'])
    expect((await fetch(`${url}/health`)).status).toBe(200)
    expect(kept()).toEqual([])
  })

  it.each([
    [undefined, 16 * MIB],
    [1_000, 1_000],
  ])(
    'with a limit of %s accepts a body of %i bytes, and answers 413 to one more byte, announced or not',
    async (mostBytes, limit) => {
      const { post, url, kept } = await receiving(mostBytes === undefined ? {} : { mostBytes })
      const bodyOf = (bytes: number) => `{"text":"${'x'.repeat(bytes - '{"text":""}'.length)}"}`
      expect((await post(bodyOf(limit))).status).toBe(200)
      expect((await post(bodyOf(limit + 1))).status).toBe(413)
      const stream = new Blob([bodyOf(limit + 1)]).stream()
      const chunked = { method: 'POST', body: stream, duplex: 'half' } as RequestInit
      expect((await fetch(`${url}/signals`, chunked)).status).toBe(413)
      expect(kept()).toHaveLength(1)
    },
  )

  it('answers 503 while 4 of the longest bodies are in flight, and 200 once they are done', async () => {
    const { post, url } = await receiving({ mostBytes: 1_000 })
    const begun = Array.from({ length: 4 }, () => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      const head = 'POST /signals HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n'
      socket.write(`${head}${'x'.repeat(999)}`)
      return socket
    })
    const statusOfNext = async () => (await post(DELIVERY)).status
    await expect.poll(statusOfNext).toBe(503)
    for (const socket of begun) socket.destroy()
    await expect.poll(statusOfNext).toBe(200)
  })

  it('records how many it refused and why it refused the last one, and adds to earlier counts', async () => {
    const { folder } = await receiving()
    const clock = handClock(Date.UTC(2026, 2, 1))
    const sleep = (ms: number) => {
      clock.nowMs += ms
      return Promise.resolve()
    }
    for (const round of [1, 2]) {
      const refusals = openRefusals(folder, { ...clock, now: () => clock.nowMs, sleep })
      refusals.note(413, 'a body may have 1000 bytes')
      refusals.note(404, 'no such path')
      refusals.note(401, 'it is not signed')
      refusals.flush()
      expect(readRefused(folder)).toMatchObject({
        deliveries: 2 * round,
        last: { status: 401, reason: 'it is not signed' },
      })
    }
  })

  it('closes 50 silent connections, and then answers', async () => {
    const { url } = await receiving({ silentMs: 300 })
    const ends = Array.from({ length: 50 }, async () => {
      const silent = connect(Number(new URL(url).port), '127.0.0.1')
      silent.on('error', () => undefined)
      await once(silent, 'close')
    })
    await Promise.all(ends)
    expect((await fetch(`${url}/health`)).status).toBe(200)
  })

  it('keeps nothing of a body that ends too early', async () => {
    const { url, kept } = await receiving()
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write(
      `POST /signals HTTP/1.1\r\nHost: x\r\nContent-Length: ${DELIVERY.length}\r\n\r\n${DELIVERY.slice(0, 20)}`,
    )
    await new Promise((resolve) => {
      socket.once('drain', resolve)
      setTimeout(resolve, 50)
    })
    socket.destroy()
    await once(socket, 'close')
    expect((await fetch(`${url}/health`)).status).toBe(200)
    expect(kept()).toEqual([])
  })

  it('answers 503 while the disk refuses, and 200 afterwards', async () => {
    const { post, folder, kept } = await receiving()
    writeFileSync(folder, 'no folder')
    expect((await post(DELIVERY)).status).toBe(503)
    rmSync(folder)
    mkdirSync(folder)
    expect((await post(DELIVERY)).status).toBe(200)
    expect(kept()).toHaveLength(1)
  })
})

describe('a receiver with a secret', () => {
  it('accepts a signature in any case and with the name of the algorithm before it', async () => {
    const { post, kept } = await receiving(signedWith('hex'))
    for (const signature of [
      signatureOf(DELIVERY),
      signatureOf(DELIVERY).toUpperCase(),
      `sha256=${signatureOf(DELIVERY)}`,
    ]) {
      expect((await post(DELIVERY, { 'X-Webhook-Signature': signature })).status).toBe(200)
    }
    expect(kept()).toHaveLength(3)
  })

  it.each([
    ['nothing', {}],
    ['an empty signature', { 'x-webhook-signature': '' }],
    ['that of another body', { 'x-webhook-signature': signatureOf('{}') }],
    ['half of it', { 'x-webhook-signature': signatureOf(DELIVERY).slice(0, 32) }],
    ['it in base64', { 'x-webhook-signature': signatureOf(DELIVERY, 'base64') }],
    ['it in another header', { 'x-signature': signatureOf(DELIVERY) }],
  ])('answers 401 to %s, and keeps nothing', async (_, headers: Record<string, string>) => {
    const { post, kept } = await receiving(signedWith('hex'))
    expect((await post(DELIVERY, headers)).status).toBe(401)
    expect(kept()).toEqual([])
  })

  it('reads it from the configured header and encoding', async () => {
    const { post } = await receiving(signedWith('base64', 'X-Own-Signature'))
    const headers = { 'x-own-signature': signatureOf(DELIVERY, 'base64') }
    expect((await post(DELIVERY, headers)).status).toBe(200)
  })
})

it('exits with 2 for a host that no network of this machine has, and says what to use', async () => {
  const server = createServer()
  await expect(listenAt(server, '192.0.2.1', 0)).rejects.toMatchObject({
    exitCode: 2,
    message: '192.0.2.1 port 0: no network of this machine has that address',
    hint: expect.stringContaining('Name another host or port'),
  })
})
