import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { Fault } from '../../src/simulator/faults.ts'
import { anEvent, manyEvents, PATH, simulate, type TestSimulator } from './simulator-fixture.ts'

interface RawAnswer {
  head: string
  body: Buffer
  error: string | undefined
  /** Milliseconds from sending the request to the first byte. */
  firstByteMs: number
  chunks: number
}

/** One search over a raw socket: the exact bytes until the server closes. */
async function raw(simulator: TestSimulator): Promise<RawAnswer> {
  const socket = connect(Number(new URL(simulator.url).port), '127.0.0.1')
  const chunks: Buffer[] = []
  let error: string | undefined
  let firstByteMs = 0
  const sentAt = performance.now()
  socket.on('data', (chunk: Buffer) => {
    if (chunks.length === 0) firstByteMs = performance.now() - sentAt
    chunks.push(chunk)
  })
  socket.on('error', (problem: NodeJS.ErrnoException) => (error = problem.code))
  const body = JSON.stringify({ limit: 50, page: 1 })
  socket.write(
    `POST ${PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer simulator-key\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  )
  await new Promise((resolve) => socket.once('close', resolve))
  const all = Buffer.concat(chunks)
  const end = all.indexOf('\r\n\r\n')
  return {
    head: all.subarray(0, end).toString(),
    body: all.subarray(end + 4),
    error,
    firstByteMs,
    chunks: chunks.length,
  }
}

const announced = (answer: RawAnswer) => Number(/content-length: (\d+)/i.exec(answer.head)?.[1])
const simulateFault = (fault: Fault, events = 50) =>
  simulate(manyEvents(events), { faults: [fault] })

/** The charge for the only request. */
const charged = (simulator: TestSimulator) => simulator.account().credits

describe('faults on the wire', () => {
  it('status 503 with Retry-After 60 hits page 3 once and charges nothing', async () => {
    const simulator = await simulate(manyEvents(6), {
      faults: [{ page: 3, status: 503, headers: { 'Retry-After': 60 }, message: 'come back' }],
    })
    const ask = (page: number) => simulator.post({ page, limit: 2 })
    expect((await ask(1)).status).toBe(200)
    const struck = await ask(3)
    expect([struck.status, struck.headers['retry-after']]).toEqual([503, '60'])
    expect(struck.body).toEqual({
      success: false,
      message: 'come back',
      data: null,
      credit_used: 0,
    })
    expect((await ask(3)).status).toBe(200)
    expect(simulator.account()).toMatchObject({
      by_status: { 200: 2, 503: 1 },
      credits: 20,
      charged_pages: 2,
    })
    expect(simulator.account().log.map((entry) => entry.fault)).toEqual([null, 'status', null])
  })

  it.each([
    ['1000 bytes', 1_000, () => 1_000],
    ['50%', '50%', (whole: number) => Math.floor(whole / 2)],
    ['more than all', 10_000_000, (whole: number) => whole - 1],
  ])(
    'cut after %s announces the whole body, sends only that part, and is charged',
    async (_, cut, bytes) => {
      const simulator = await simulateFault({ cut })
      const answer = await raw(simulator)
      expect(answer.head).toMatch(/^HTTP\/1.1 200 /)
      expect(answer.body).toHaveLength(bytes(announced(answer)))
      expect(charged(simulator)).toBe(10)
      expect((await raw(simulator)).body).toHaveLength(announced(answer))
    },
  )

  it.each([
    [{ reset: true } as const, 0],
    [{ reset: true, charged: true } as const, 10],
  ])('%j resets before the headers and charges %i', async (fault, credits) => {
    const simulator = await simulateFault(fault)
    const answer = await raw(simulator)
    expect([answer.error, answer.body.length]).toEqual(['ECONNRESET', 0])
    expect(charged(simulator)).toBe(credits)
    expect(simulator.account()).toMatchObject({ by_status: { none: 1 } })
  })

  it('slow waits 80 ms before the headers and sends the whole body in drops, charged', async () => {
    const simulator = await simulateFault({ slow: { delay_ms: 80, bytes: 5_000, every_ms: 5 } })
    const answer = await raw(simulator)
    expect(answer.firstByteMs).toBeGreaterThanOrEqual(79)
    expect(answer.chunks).toBeGreaterThan(2)
    expect(JSON.parse(answer.body.toString())).toMatchObject({ success: true })
    expect(charged(simulator)).toBe(10)
  })

  it('gzip_cut sends all the bytes it announced, half of the gzip stream, and is charged', async () => {
    const simulator = await simulateFault({ gzip_cut: '50%' })
    const answer = await raw(simulator)
    expect(answer.body).toHaveLength(announced(answer))
    expect(() => gunzipSync(answer.body)).toThrow('unexpected end of file')
    expect(charged(simulator)).toBe(10)
  })
})

describe('which requests a fault hits', () => {
  const strikes = async (faults: Fault[], requests = 12) => {
    const simulator = await simulate([anEvent(), anEvent({ organization: 'org_b' })], { faults })
    const struck: number[] = []
    for (let i = 1; i <= requests; i += 1) {
      const organization_ids = i % 2 === 0 ? 'org_b' : 'org_a'
      if ((await simulator.post({ organization_ids })).status !== 200) struck.push(i)
    }
    return struck
  }

  it.each<[Fault, number[]]>([
    [{ status: 500 }, [1]],
    [{ status: 500, times: 3 }, [1, 2, 3]],
    [{ status: 500, nth: 5 }, [5]],
    [{ status: 500, organization_id: 'org_b', nth: 2 }, [4]],
    [{ status: 500, probability: 0, times: 'always' }, []],
  ])('%j hits requests %j of 12', async (fault, struck) => {
    expect(await strikes([fault])).toEqual(struck)
  })

  it('probability 0.3 hits about 60 of 200 requests, the same ones for the same seed', async () => {
    const struck = (seed: number) =>
      strikes([{ status: 500, probability: 0.3, seed, times: 'always' }], 200)
    const first = await struck(1)
    expect(first.length).toBeGreaterThan(40)
    expect(first.length).toBeLessThan(80)
    expect(await struck(1)).toEqual(first)
    expect(await struck(2)).not.toEqual(first)
  })
})

describe('the page about the simulator', () => {
  it('has a valid example for each of the 5 actions', async () => {
    const page = readFileSync(new URL('../../docs/simulator.md', import.meta.url), 'utf8')
    const rows = [...page.matchAll(/^\| `(\w+)` .*`(\{.*\})` +\|$/gm)]
    const simulator = await simulate([anEvent()])
    for (const [, action, example] of rows) {
      const fault = JSON.parse(example ?? '') as Fault
      expect(fault).toHaveProperty(action ?? '')
      simulator.setFaults([fault])
    }
    expect(rows).toHaveLength(5)
  })
})

describe('an impossible fault is refused', () => {
  it.each<[unknown, string]>([
    [[{}], 'fault 1: a fault has exactly one action, not 0'],
    [[{ status: 500, tims: 3 }], 'fault 1: unknown key tims'],
    [[{ cut: '120%' }], 'fault 1 cut: '],
    [[{ status: 204 }], 'fault 1 status: expected a status that has a body'],
  ])('%j: %s', async (faults, message) => {
    const simulator = await simulate([anEvent()])
    expect(() => simulator.setFaults(faults as Fault[])).toThrow(message)
  })
})
