import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutEvents } from '../../src/load/cut-events.ts'

const cutNumber = (number: number) => (event: unknown) => event === number

describe('cutEvents', () => {
  it('removes 1 of 3 events and leaves every other byte unchanged', () => {
    const body = Buffer.from('{ "data" : [ 1.50 , 2 ,\n 12345678901234567890 ], "x":"[2,{]" }')
    const cut = cutEvents(body, cutNumber(2))
    expect(cut?.body.toString()).toBe('{ "data" : [ 1.50,12345678901234567890 ], "x":"[2,{]" }')
    expect([cut?.places, cut?.events]).toEqual([[1], 3])
  })

  it('returns null if nothing is cut, and leaves an empty list if everything is', () => {
    const body = Buffer.from('{"data":[7,7]}')
    expect(cutEvents(body, cutNumber(1))).toBeNull()
    expect(cutEvents(body, cutNumber(7))?.body.toString()).toBe('{"data":[]}')
  })

  it('finds the list after a byte order mark, under an escaped name, and if it is repeated', () => {
    const body = Buffer.from('\uFEFF{"a":{"data":[1]},"d\\u0061ta":[1,"\\"]1"],"data":[2,1]}')
    const cut = cutEvents(body, cutNumber(1))
    expect(cut?.body.toString()).toBe('\uFEFF{"a":{"data":[1]},"d\\u0061ta":["\\"]1"],"data":[2]}')
    expect([cut?.places, cut?.events]).toEqual([[0, 3], 4])
  })

  it('leaves valid JSON with exactly the events that were not cut, for any events and spacing', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ cut: fc.boolean(), value: fc.jsonValue() }), { maxLength: 8 }),
        fc.jsonValue(),
        fc.constantFrom(undefined, 1, '\t'),
        (events, other, space) => {
          const body = Buffer.from(
            JSON.stringify({ before: other, data: events, after: other }, null, space),
          )
          const cut = cutEvents(body, (event) => (event as { cut: boolean }).cut)
          const left = cut === null ? JSON.parse(body.toString()) : JSON.parse(cut.body.toString())
          const kept = JSON.parse(JSON.stringify(events.filter((event) => !event.cut)))
          expect(left.data).toEqual(kept)
          expect(left.before).toEqual(JSON.parse(JSON.stringify(other)))
          expect(left.after).toEqual(left.before)
          expect(cut?.places.length ?? 0).toBe(events.length - kept.length)
        },
      ),
    )
  })
})
