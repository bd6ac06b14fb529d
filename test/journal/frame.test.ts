import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeFrame, encodeFrame } from '../../src/journal/frame.ts'
import type { JournalRecord } from '../../src/journal/records.ts'
import { MIB } from '../../src/support/units.ts'
import { aPage } from './journal-fixture.ts'

/** Any header: everything that a record may hold in JSON, with texts of every kind. */
const anyRecord = fc
  .dictionary(fc.string({ unit: 'binary' }), fc.jsonValue())
  .map((fields) => ({ ...aPage(1), ...fields, kind: 'page_received' }) as JournalRecord)
const anyPayload = fc.oneof(
  fc.uint8Array({ maxLength: 5_000 }),
  fc.string({ unit: 'grapheme', maxLength: 500 }),
)

describe('a frame', () => {
  it('returns any record and payload, wherever it is in a buffer', () => {
    fc.assert(
      fc.property(
        anyRecord,
        anyPayload,
        fc.nat(100),
        fc.nat(100),
        (record, payload, before, after) => {
          const bytes = encodeFrame(record, payload)
          const buffer = Buffer.concat([
            Buffer.alloc(before, '\n'),
            bytes,
            Buffer.alloc(after, 'J'),
          ])
          const read = decodeFrame(buffer, before)
          if (read.kind !== 'frame') throw new Error(read.kind)
          expect(read.frame.record).toEqual(JSON.parse(JSON.stringify(record)))
          expect(read.frame.payload()).toEqual(Buffer.from(payload))
          expect(read.frame.size).toBe(bytes.length)
        },
      ),
    )
  })

  it('carries a body of 5 MiB in fewer bytes', () => {
    const payload = '{"event_type":"joined"},'.repeat((5 * MIB) / 24)
    const bytes = encodeFrame(aPage(1), payload)
    const read = decodeFrame(bytes, 0)
    if (read.kind !== 'frame') throw new Error(read.kind)
    expect(read.frame.payload().toString()).toBe(payload)
    expect(bytes.length).toBeLessThan(MIB)
  })

  it('is never accepted after a flip of any single bit', () => {
    const bytes = encodeFrame(aPage(12), 'a body with some text in it')
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect([bit, decodeFrame(changed, 0).kind]).not.toEqual([bit, 'frame'])
    }
  })

  it.each([
    ['zeros', Buffer.alloc(200)],
    ['text', Buffer.from('{"kind":"page_received"}\n'.repeat(9))],
    ['a length over 64 MiB', Buffer.from(`J2 67108865 0 0 00000000\n${' '.repeat(99)}`)],
    ['a length that is no number', Buffer.from(`J2 0x10 1e1 0 00000000\n${' '.repeat(99)}`)],
    ['a missing length', Buffer.from(`J2 12  0 00000000\n${' '.repeat(99)}`)],
    ['a sixth word', Buffer.from(`J2 2 0 0 00000000 x\n{}\n${' '.repeat(99)}`)],
    ['version 0', Buffer.from(`J0 2 0 00000000\n{}\n${' '.repeat(99)}`)],
  ])('does not begin at %s', (_what, bytes) => {
    expect(decodeFrame(bytes, 0)).toEqual({ kind: 'broken', reason: 'no record begins here' })
  })

  it('of format 3 counts as newer, not as damaged', () => {
    const bytes = Buffer.from(`J3 120 4000 0 89abcdef\n${' '.repeat(99)}`)
    expect(decodeFrame(bytes, 0)).toEqual({ kind: 'foreign', version: 3 })
  })

  it('is not written if it is too large to be read back', () => {
    const record = aPage(1, { body_sha256: 'x'.repeat(65 * MIB) })
    expect(() => encodeFrame(record)).toThrow('a page_received record is over')
  })
})
