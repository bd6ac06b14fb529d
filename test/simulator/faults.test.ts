import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { Fault } from '../../src/simulator/faults.ts'
import {
  anEvent,
  manyEvents,
  PATH,
  peopleOf,
  simulate,
  type TestSimulator,
} from './simulator-fixture.ts'

interface RawAnswer {
  head: string
  body: Buffer
  error: string | undefined
  /** Milliseconds from sending the request to the first byte. */
  firstByteMs: number
  chunks: number
}

/** One search over a bare socket: exactly what is on the wire, until the server closes. */
async function raw(simulator: TestSimulator, page = 1): Promise<RawAnswer> {
  const socket = connect(Number(new URL(simulator.url).port), '127.0.0.1')
  const chunks: Buffer[] = []
  let error: string | undefined
  let firstByteMs = 0
  const sentAt = performance.now()
  const body = JSON.stringify({ limit: 50, page })
  socket.on('data', (chunk: Buffer) => {
    if (chunks.length === 0) firstByteMs = performance.now() - sentAt
    chunks.push(chunk)
  })
  socket.on('error', (problem: NodeJS.ErrnoException) => (error = problem.code))
  socket.write(
    [
      `POST ${PATH} HTTP/1.1`,
      'Host: x',
      'Authorization: Bearer simulator-key',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
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

/** What the account charged for the only request. */
const charged = (simulator: TestSimulator) => simulator.account().credits

describe('faults on the wire', () => {
  it('status 503 with Retry-After 60 strikes page 3 once and charges nothing', async () => {
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
    ['0 bytes', 0, () => 0],
    ['more than all', 10_000_000, (whole: number) => whole - 1],
  ])(
    'cut after %s announces the whole body, sends that much, and is charged',
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

  it('html answers 200 with a web page and charges nothing', async () => {
    const simulator = await simulateFault({ html: true })
    const answer = await raw(simulator)
    expect(answer.head).toContain('Content-Type: text/html')
    expect(answer.body.toString()).toMatch(/^<!doctype html>/)
    expect(charged(simulator)).toBe(0)
  })

  it('garbage answers 200 with all the bytes it announced, which are no JSON, and is charged', async () => {
    const simulator = await simulateFault({ garbage: true })
    const answer = await raw(simulator)
    expect(answer.body).toHaveLength(announced(answer))
    expect(() => JSON.parse(answer.body.toString()) as unknown).toThrow(SyntaxError)
    expect(charged(simulator)).toBe(10)
  })

  it('gzip_cut sends all the bytes it announced, half of the gzip stream, and is charged', async () => {
    const simulator = await simulateFault({ gzip_cut: '50%' })
    const answer = await raw(simulator)
    expect(answer.body).toHaveLength(announced(answer))
    expect(() => gunzipSync(answer.body)).toThrow('unexpected end of file')
    expect(charged(simulator)).toBe(10)
  })

  it('an empty page is charged nothing, whatever happens to it', async () => {
    const simulator = await simulateFault({ cut: '50%' }, 0)
    await raw(simulator)
    expect(charged(simulator)).toBe(0)
  })
})

describe('faults in the page', () => {
  const change = async (fault: Fault) => {
    const simulator = await simulateFault(fault, 3)
    return (await simulator.post({})).body.data
  }

  it('extra_field, missing_field and wrong_type change 1 event of 3', async () => {
    const [added, second] = await change({ extra_field: 'person.middle_name' })
    expect(added?.person).toHaveProperty('middle_name')
    expect(second?.person).not.toHaveProperty('middle_name')

    const [first, missing] = await change({ missing_field: 'title.current', event: 1 })
    expect([first?.title, missing?.title]).toEqual([
      { current: 'Engineer', previous: null },
      { previous: null },
    ])

    const [lag] = await change({ wrong_type: 'detection_lag_days' })
    expect(lag?.detection_lag_days).toBe('not a number')
    const [when] = await change({ wrong_type: 'detected_at' })
    expect(when?.detected_at).toBe(42)
  })

  it('duplicate begins a page with the last event of the page before', async () => {
    const simulator = await simulate(manyEvents(4), { faults: [{ page: 2, duplicate: true }] })
    expect(peopleOf(await simulator.post({ page: 2, limit: 2 }))).toEqual([
      'per_2',
      'per_3',
      'per_4',
    ])
    expect(peopleOf(await simulator.post({ page: 2, limit: 2 }))).toEqual(['per_3', 'per_4'])
  })

  it('same_page_forever sends page 1 as every page, and charges it', async () => {
    const simulator = await simulateFault({ same_page_forever: true, times: 'always' }, 4)
    const ninth = await simulator.post({ page: 9, limit: 2 })
    expect(peopleOf(ninth)).toEqual(['per_1', 'per_2'])
    expect(ninth.body.pagination).toEqual({ page: 9, limit: 2, has_more: true })
    expect(charged(simulator)).toBe(10)
  })

  it('empty_with_has_more sends no events, says has_more and is free', async () => {
    const simulator = await simulateFault({ empty_with_has_more: true })
    const { body } = await simulator.post({})
    expect(body).toMatchObject({ data: [], pagination: { has_more: true }, credit_used: 0 })
    expect(charged(simulator)).toBe(0)
  })
})

describe('which requests a fault strikes', () => {
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
    [{ status: 500, every: 4, times: 'always' }, [4, 8, 12]],
    [{ status: 500, every: 4, times: 2 }, [4, 8]],
    [{ status: 500, organization_id: 'org_b' }, [2]],
    [{ status: 500, organization_id: 'org_b', nth: 2 }, [4]],
    [{ status: 500, organization_id: 'org_nobody', times: 'always' }, []],
    [{ status: 500, page: 2, times: 'always' }, []],
    [{ status: 500, probability: 0, times: 'always' }, []],
  ])('%j strikes requests %j of 12', async (fault, struck) => {
    expect(await strikes([fault])).toEqual(struck)
  })

  it('probability 0.3 strikes about 60 of 200 requests, the same ones for the same seed', async () => {
    const fault = (seed: number): Fault => ({
      status: 500,
      probability: 0.3,
      seed,
      times: 'always',
    })
    const first = await strikes([fault(1)], 200)
    expect(first.length).toBeGreaterThan(40)
    expect(first.length).toBeLessThan(80)
    expect(await strikes([fault(1)], 200)).toEqual(first)
    expect(await strikes([fault(2)], 200)).not.toEqual(first)
  })
})

describe('the page about the simulator', () => {
  it('has a valid example for each of the 16 actions', async () => {
    const page = readFileSync(new URL('../../src/simulator/README.md', import.meta.url), 'utf8')
    const rows = [...page.matchAll(/^\| `(\w+)` .*`(\{.*\})` +\|$/gm)]
    const simulator = await simulate([anEvent()])
    for (const [, action, example] of rows) {
      const fault = JSON.parse(example ?? '') as Fault
      expect(fault).toHaveProperty(action ?? '')
      simulator.setFaults([fault])
    }
    expect(rows).toHaveLength(16)
  })
})

describe('a fault that makes no sense is refused', () => {
  it.each<[unknown, string]>([
    [[{}], 'fault 1: a fault has exactly one action, not 0'],
    [[{ html: true }, { status: 500, cut: 1 }], 'fault 2: a fault has exactly one action, not 2'],
    [[{ status: 500, tims: 3 }], 'fault 1: Unrecognized key: "tims"'],
    [[{ cut: '120%' }], 'fault 1 cut: '],
    [[{ status: 204 }], 'fault 1 status: expected a status that has a body'],
    [[{ status: 500, charged: true }], 'fault 1: charged does not go with status'],
    [[{ html: true, message: 'x' }], 'fault 1: message goes with status only'],
    [{ status: 500 }, 'faults: Invalid input: expected array'],
  ])('%j: %s', async (faults, message) => {
    const simulator = await simulate([anEvent()])
    expect(() => simulator.setFaults(faults as Fault[])).toThrow(message)
  })
})
