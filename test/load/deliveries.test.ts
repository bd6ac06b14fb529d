/** Deliveries of signals as rows of table answers. */

import { describe, expect, it } from 'vitest'
import { cutAnswer, rowsOfDelivery } from '../../src/load/remove-suppressed.ts'

const ID = '01JD0000000000000000000000'
const changeOf = (event_id: string, person = event_id) => ({
  event_id,
  profile_url: `https://network.example/in/${person}`,
  change_data: { post_text: 'We are hiring.' },
})
const around = { event: 'person_activity', job_id: 'sig-1' }
const deliveryOf = (...changes: unknown[]) => JSON.stringify({ ...around, changes })

describe('a delivery', () => {
  it('of 1,200 changes gives 1,200 rows, each with one change and the fields around it', () => {
    const changes = Array.from({ length: 1_200 }, (_, nth) => changeOf(`e${nth}`))
    const rows = rowsOfDelivery(ID, deliveryOf(...changes))
    expect(rows.map(({ body }) => body)).toEqual(changes.map((change) => deliveryOf(change)))
    const ids = new Set(rows.map(({ request_id: id }) => id))
    expect(ids.size).toBe(1_200)
    expect([...ids].filter((id) => !id.startsWith(`${ID}-`))).toEqual([])
  })

  it('gives the same rows when read back from its rows', () => {
    const rows = rowsOfDelivery(ID, deliveryOf(changeOf('a'), changeOf('b')))
    expect(rows.flatMap((row) => rowsOfDelivery(row.request_id, row.body))).toEqual(rows)
  })

  it('gives the same rows whether a person is removed from it or from the rows, and none if no one is left', () => {
    const isNamed = (text: string) => text.endsWith('/in/bea')
    const cut = (body: string) => cutAnswer(Buffer.from(body), isNamed)?.body.toString() ?? body
    for (const people of [['ann', 'bea', 'cy', 'bea'], ['bea', 'ann'], ['bea', 'bea'], ['bea']]) {
      const whole = deliveryOf(...people.map((person, nth) => changeOf(`e${nth}`, person)))
      const ofRows = rowsOfDelivery(ID, whole).flatMap(({ request_id: id, body }) =>
        cut(body) === body ? [{ request_id: id, body }] : rowsOfDelivery(id, cut(body)),
      )
      expect(ofRows).toEqual(rowsOfDelivery(ID, cut(whole)))
      expect(ofRows).toHaveLength(people.filter((person) => person !== 'bea').length)
    }
  })

  it.each([
    ['a baseline', JSON.stringify({ event: 'baseline', profiles: [{ profile_url: 'x' }] })],
    ['changes that are no list', JSON.stringify({ ...around, changes: { a: 1 } })],
    ['changes and profiles', JSON.stringify({ changes: [changeOf('a')], profiles: [] })],
    [
      'more around its changes than in them',
      JSON.stringify({ a: 'x'.repeat(999), changes: [1, 2] }),
    ],
    [
      'changes nested 20,000 deep',
      deliveryOf().replace('[]', '['.repeat(20_000) + ']'.repeat(20_000)),
    ],
    ['its changes in a list', '[{"changes":["aaaaaaaaaaaaaaaa"]}]'],
    ['no JSON', '{'],
    ['no object', '[]'],
  ])('with %s is one unchanged row', (_, body) => {
    expect(rowsOfDelivery(ID, body)).toEqual([{ request_id: ID, body }])
  })
})
