/** Raw answers of the service, byte by byte, through the transport into an extraction. */

import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'
import { errorMessage, parseEvent, parsePage, unknownFields } from '../../src/api/schemas.ts'
import { eventFacts } from '../../src/extract/page-record.ts'
import { NoAnswerError, createTransport, type Answer } from '../../src/api/transport.ts'
import { pausedUntil } from '../../src/journal/pauses.ts'
import { realClock } from '../../src/support/clock.ts'
import { JobtideError } from '../../src/support/errors.ts'
import { receivedJson } from '../../src/support/json.ts'
import { Secret } from '../../src/support/secret.ts'
import { DAY } from '../../src/support/units.ts'
import { aRun, aService } from '../extract/extract-fixture.ts'
import { NOW, anEvent } from '../simulator/simulator-fixture.ts'
import { claim, type Target } from './target.ts'

const KEY = 'sk_fuzz_4f9a0c77b'
const never = new AbortController().signal

const events = [
  anEvent({ organization: 'org_a' }),
  anEvent({ organization: 'org_b', person: 'per_é' }),
]
const pageOf = (data: readonly unknown[], hasMore: boolean) =>
  JSON.stringify({
    success: true,
    message: 'ok',
    data,
    pagination: { page: 1, limit: 50, has_more: hasMore },
    credit_used: 10,
  })
const head = (status: string, headers: readonly string[]) =>
  [`HTTP/1.1 ${status}`, `date: ${new Date(NOW).toUTCString()}`, ...headers, '', ''].join('\r\n')
const whole = (status: string, body: string | Buffer, ...headers: readonly string[]) =>
  Buffer.concat([
    Buffer.from(head(status, [...headers, `content-length: ${Buffer.byteLength(body)}`])),
    Buffer.from(body),
  ])

const corpus = [
  whole('200 OK', pageOf(events, false), 'content-type: application/json'),
  whole('200 OK', pageOf(events, true), 'x-ratelimit-limit: 5', 'x-ratelimit-remaining: 4'),
  whole('200 OK', pageOf([], false)),
  whole('200 OK', gzipSync(pageOf(events, false)), 'content-encoding: gzip'),
  Buffer.from(
    `${head('200 OK', ['transfer-encoding: chunked'])}${pageOf(events, false).length.toString(16)}\r\n${pageOf(events, false)}\r\n0\r\n\r\n`,
  ),
  whole(
    '429 Too Many Requests',
    '{"message":"slow down"}',
    'retry-after: 7',
    'x-ratelimit-reset: 9',
  ),
  whole(
    '503 Service Unavailable',
    '<html>',
    `retry-after: ${new Date(NOW + 60_000).toUTCString()}`,
  ),
  whole('400 Bad Request', '{"success":false,"message":"company org_a is not tracked"}'),
  whole('401 Unauthorized', `{"message":"the key ${KEY} is not known"}`),
  whole('500 Oops', 'x'),
]

/** Starts the server that sends the inputs. */
export async function openAnswers() {
  let sent: Buffer = Buffer.alloc(0)
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    socket.once('data', () => socket.end(sent))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  /** What a client makes of these bytes. */
  async function received(input: Buffer): Promise<Answer | NoAnswerError> {
    sent = input
    const transport = createTransport({
      baseUrl: `http://127.0.0.1:${port}`,
      apiKey: new Secret(KEY),
      clock: { ...realClock, now: () => NOW },
      connections: 1,
      deadlineMs: 5_000,
    })
    try {
      return await transport.send('/x', {}, never)
    } catch (error) {
      if (error instanceof NoAnswerError) return error
      throw error
    } finally {
      await transport.close()
    }
  }

  const target: Target = {
    name: 'answers',
    share: 0.08,
    corpus,
    dictionary: [
      ['content-length: 9\r\n', 'content-encoding: gzip\r\n', 'transfer-encoding: chunked\r\n'],
      [
        'retry-after: 1e9\r\n',
        'retry-after: -1\r\n',
        'x-ratelimit-remaining: -5\r\n',
        'date: x\r\n',
      ].flat(),
      ['x-ratelimit-limit: 0\r\n', 'date: Thu, 01 Jan 1970 00:00:00 GMT\r\n', '\r\n\r\n', '\r\n'],
      ['"has_more":true', '"credit_used":1e308', '"page":2', '"data":null', '"data":[{}]', KEY],
      ['HTTP/1.1 100 Continue\r\n\r\n', ' 302 ', ' 204 ', ' 402 ', ' 599 ', 'location: /\r\n'],
    ].flat(),
    async check(input) {
      const answer = await received(input)
      if (!(answer instanceof NoAnswerError)) checkAnswer(answer, input)
      await extractWith(answer)
    },
  }
  return {
    target,
    async close(): Promise<void> {
      server.close()
      await once(server, 'close')
    },
  }
}

function checkAnswer({ status, headers, body }: Answer, input: Buffer): void {
  claim(!body.includes(KEY), 'the key is in the body')
  const isAsSent = headers['content-encoding'] ?? headers['transfer-encoding']
  // Always removed, even with invisible bytes in it, so the body differs.
  const visible = input.toString('latin1').replaceAll(/[^\x21-\x7e]/g, '')
  const hasKey = visible.toLowerCase().includes(KEY)
  claim(isAsSent !== undefined || hasKey || input.includes(body), 'other bytes')
  const stated = headers['content-length']
  const isShort = isAsSent === undefined && stated !== undefined && Number(stated) > body.length
  // For an order to wait only the headers count: a truncated body is ignored.
  const isLeftOut = body.length === 0 && (status === 429 || status >= 500)
  claim(!isShort || hasKey || isLeftOut, 'a cut body passed for whole')
  claim(!/[\p{Cc}\p{Bidi_Control}]/u.test(errorMessage(body)), 'a message a terminal obeys')
  const page = parsePage(body)
  if (typeof page === 'string') return
  claim(page.page >= 1, `page ${page.page}`)
  for (const event of page.events) {
    const parsed = parseEvent(event)
    eventFacts(event)
    unknownFields(event)
    receivedJson(event)
    if (typeof parsed === 'string') continue
    for (const at of [parsed.detected_at, parsed.changed_at]) {
      claim(/^\d{4}-/.test(new Date(at).toISOString()), `the year of ${at}`)
    }
  }
}

/** An extraction whose first request gets this answer, and every other one an empty last page. */
async function extractWith(first: Answer | NoAnswerError): Promise<void> {
  const service = aService(() => ({}))
  let asked = 0
  const run = aRun({
    ...service,
    send(path, question, signal) {
      asked += 1
      if (asked > 1) return service.send(path, question, signal)
      return first instanceof NoAnswerError ? Promise.reject(first) : Promise.resolve(first)
    },
  })
  const error = await run.extract().then(
    () => null,
    (thrown: unknown) => thrown,
  )
  const isOurs = error === null || error instanceof JobtideError
  claim(isOurs, `not one of our errors: ${inspect(error)}`)
  const { total } = run.ledger()
  claim(Number.isFinite(total) && total >= 0 && total <= asked * 500, `${total} credits`)
  const notBefore = pausedUntil(run.history(), service.clock.now(), null)
  claim(notBefore <= service.clock.now() + DAY, `not before ${notBefore}`)
  const pages = run.records('page_received')
  const bodies = run.frames.filter(({ record }) => record.kind === 'page_received')
  for (const { payload } of bodies) {
    claim(typeof parsePage(payload()) !== 'string', 'what is no page counts as one')
  }
  const ends = ['batch_finished', 'organization_quarantined'] as const
  const isEnded = ends.some((kind) => run.records(kind).length > 0)
  claim(error !== null || isEnded, 'no end, and no error')
  claim(pages.length <= asked, 'more pages than answers')
  claim(run.records('request_sent').length === asked, 'a request that no record tells of')
}
