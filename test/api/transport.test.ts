import type { RequestListener } from 'node:http'
import { createServer, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { TransportOptions } from '../../src/api/transport.ts'
import { Secret } from '../../src/support/secret.ts'
import { MIB } from '../../src/support/units.ts'
import { KEY, failureOf, httpServer, listen, signal, transportTo } from './transport-fixture.ts'

const PAGE = JSON.stringify({ data: [{ name: 'Zoë Müller' }], page: 1 })

/** A server that answers every request with `write`. */
async function rawServer(write: (socket: Socket) => void): Promise<number> {
  return listen(
    createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => write(socket))
    }),
  )
}

/** A server that sends this text and ends the connection. */
const saying = async (head: string, body: string | Buffer = '') =>
  rawServer((socket) => {
    socket.write(`HTTP/1.1 ${head}\r\n\r\n`)
    socket.end(body)
  })

describe('a request', () => {
  it('carries key, body and Accept headers', async () => {
    let seen: object = {}
    const port = await httpServer((request, response) => {
      let body = ''
      request.on('data', (part: Buffer) => (body += part.toString()))
      request.on('end', () => {
        const { method, url, headers } = request
        seen = { method, url, headers, body }
        response.end(PAGE)
      })
    })
    const answer = await transportTo(port, { userAgent: 'jobtide/1' }).send(
      '/p',
      { a: 'ü' },
      signal,
    )
    expect(seen).toMatchObject({
      method: 'POST',
      url: '/p',
      body: '{"a":"ü"}',
      headers: {
        authorization: `Bearer ${KEY}`,
        'content-type': 'application/json',
        'accept-encoding': 'gzip',
        'user-agent': 'jobtide/1',
      },
    })
    expect(answer).toMatchObject({ status: 200, body: Buffer.from(PAGE) })
    expect(Math.abs(answer.receivedAt - Date.now())).toBeLessThan(5_000)
  })

  it.each(['GZIP', 'x-gzip'])('reads a body in %s', async (encoding) => {
    const port = await httpServer((_request, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end(gzipSync(PAGE))
    })
    const { body } = await transportTo(port).send('/', {}, signal)
    expect(body.toString()).toBe(PAGE)
  })

  it.each([302, 307, 308])('does not follow a %d', async (status) => {
    let requests = 0
    const port = await httpServer((_request, response) => {
      requests += 1
      response.writeHead(status, { location: '/elsewhere' }).end()
    })
    expect(await transportTo(port).send('/', {}, signal)).toMatchObject({ status })
    expect(requests).toBe(1)
  })
})

describe('an incomplete answer does not count as one, and is in doubt', () => {
  const gzip = gzipSync(PAGE.repeat(50))
  const flipped = Buffer.from(gzip)
  flipped[gzip.length - 6] = (flipped[gzip.length - 6] ?? 0) ^ 0x08
  const gzipHead = (body: Buffer) =>
    `200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${body.length}`
  const chunk = `${PAGE.length.toString(16)}\r\n${PAGE}\r\n`

  it.each<readonly [string, () => Promise<number>]>([
    ['fewer bytes than Content-Length', () => saying('200 OK\r\ncontent-length: 500', PAGE)],
    ['no last chunk', () => saying('200 OK\r\ntransfer-encoding: chunked', chunk)],
    ['no HTTP', () => rawServer((socket) => socket.end('SSH-2.0-OpenSSH_9\r\n'))],
    ['nothing', () => rawServer((socket) => socket.end())],
    ['a reset before the headers', () => rawServer((socket) => socket.resetAndDestroy())],
    [
      '60 % of a gzip body',
      () => {
        const cut = gzip.subarray(0, Math.floor(gzip.length * 0.6))
        return saying(gzipHead(cut), cut)
      },
    ],
    [
      'gzip without its last byte',
      () => saying(gzipHead(gzip.subarray(0, -1)), gzip.subarray(0, -1)),
    ],
    ['gzip with a flipped bit', () => saying(gzipHead(flipped), flipped)],
    ['plain text called gzip', () => saying(gzipHead(Buffer.from(PAGE)), PAGE)],
    [
      'an encoding that was not asked for',
      () => saying('200 OK\r\ncontent-encoding: br\r\ncontent-length: 2', '{}'),
    ],
    [
      'a header of 64 KiB',
      () => saying(`200 OK\r\nx-large: ${'x'.repeat(65_536)}\r\ncontent-length: 0`),
    ],
  ])('%s', async (_what, serve) => {
    const error = await failureOf(await serve())
    expect(error.inDoubt).toBe(true)
    expect(error.message).not.toBe('')
  })

  it.each<readonly [string, () => Promise<number>]>([
    ['503 cut', () => saying('503 Busy\r\nretry-after: 120\r\ncontent-length: 500', PAGE)],
    [
      '503 in damaged gzip',
      () =>
        saying(
          `503 Busy\r\nretry-after: 120\r\ncontent-encoding: gzip\r\ncontent-length: ${flipped.length}`,
          flipped,
        ),
    ],
    [
      '429 with no last chunk',
      () => saying('429 Slow\r\nretry-after: 120\r\ntransfer-encoding: chunked', chunk),
    ],
  ])('%s is still an order to wait: it is in the headers, and costs nothing', async (_, serve) => {
    const transport = transportTo(await serve())
    const answer = await transport.send('/', {}, signal)
    expect([answer.headers['retry-after'], answer.body.length]).toEqual(['120', 0])
  })

  it('a gzip bomb of 64 MiB', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * MIB), { level: 9 })
    expect(bomb.length).toBeLessThan(MIB)
    const before = process.memoryUsage.rss()
    const error = await failureOf(await saying(gzipHead(bomb), bomb))
    expect(error).toMatchObject({ inDoubt: true })
    expect(error.message).toBe('the answer has more than 32 MiB (ERR_BUFFER_TOO_LARGE)')
    expect(process.memoryUsage.rss() - before).toBeLessThan(150 * MIB)
  })

  it('a plain body over 32 MiB', async () => {
    const port = await httpServer((_request, response) => {
      response.on('error', () => undefined).end(Buffer.alloc(33 * MIB, ' '))
    })
    const error = await failureOf(port)
    expect(error).toMatchObject({ inDoubt: true })
    expect(error.message).toContain('the answer has more than 32 MiB')
  })

  it('a body that drips a byte every 20 ms, at the deadline of 400 ms', async () => {
    const port = await httpServer((_request, response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write(' '), 20)
      response.on('close', () => clearInterval(timer))
    })
    const began = performance.now()
    const error = await failureOf(port, { deadlineMs: 400, idleMs: 200 })
    expect(error).toMatchObject({ inDoubt: true, message: 'no complete answer within 0.4 s' })
    expect(performance.now() - began).toBeLessThan(2_000)
  })

  it.each<readonly [string, Partial<TransportOptions>, RequestListener, RegExp]>([
    ['headers', { headersMs: 100 }, () => undefined, /no answer came in time/],
    [
      'the next piece of the body',
      { idleMs: 100 },
      (_, response) => response.write('{'),
      /Body Timeout/,
    ],
  ])('%s that never come, at their own limit', async (_what, options, listener, message) => {
    const error = await failureOf(await httpServer(listener), options)
    expect(error.inDoubt).toBe(true)
    expect(error.message).toMatch(message)
  })
})

describe('a request that never left is not in doubt', () => {
  it('when the connection ends before TLS is established', async () => {
    const port = await listen(createServer((socket) => socket.once('data', () => socket.end())))
    const error = await failureOf(`https://127.0.0.1:${port}`)
    expect(error.message).toContain('before secure TLS connection')
    expect(error.inDoubt).toBe(false)
  })

  it('when the key is not a valid header value', async () => {
    const apiKey = new Secret(`${KEY}\nx-injected: 1`)
    const error = await failureOf(await saying('200 OK\r\ncontent-length: 2', '{}'), { apiKey })
    expect(error.inDoubt).toBe(false)
  })
})

describe('the key', () => {
  it.each([
    ['a message', 401, JSON.stringify({ message: `invalid key ${KEY}` })],
    ['base64 in a message', 400, `bad ${Buffer.from(`Bearer ${KEY}`).toString('base64')}`],
    ['an HTML page with 200', 200, `<h1>${encodeURIComponent(KEY)}</h1>`],
  ])('that the service repeats in %s is removed from it', async (_where, status, text) => {
    const port = await httpServer((_request, response) => {
      response.writeHead(status).end(text)
    })
    const { body } = await transportTo(port).send('/', {}, signal)
    expect(body.toString()).toContain('[redacted]')
    for (const spelling of [KEY, encodeURIComponent(KEY), Buffer.from(KEY).toString('base64')]) {
      expect(body.toString()).not.toContain(spelling.slice(0, 12))
    }
  })

  it('is removed without changing any other byte, even one that is not UTF-8', async () => {
    const around = Buffer.from([0xff, 0xc3, 0x28, 0x00, 0xf0])
    const port = await httpServer((_request, response) => {
      response.end(Buffer.concat([around, Buffer.from(KEY), around]))
    })
    const { body } = await transportTo(port).send('/', {}, signal)
    expect(body).toEqual(Buffer.concat([around, Buffer.from('[redacted]'), around]))
  })
})

describe('an abort', () => {
  it('aborts a request with its reason', async () => {
    const controller = new AbortController()
    const reason = new Error('stop')
    const port = await httpServer(() => controller.abort(reason))
    await expect(transportTo(port).send('/', {}, controller.signal)).rejects.toBe(reason)
  })
})
