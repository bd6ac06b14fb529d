/** The rest of a page with cut events, and of an answer that names an erased person. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutAnswer, cutEvents } from '../../src/load/remove-suppressed.ts'

const isAnn = (text: string) => text.includes('Ann Lee')
const cut = (answer: unknown) => {
  const found = cutAnswer(Buffer.from(JSON.stringify(answer)), isAnn)
  return found === null ? null : (JSON.parse(found.body.toString()) as unknown)
}

describe('an answer that names a person', () => {
  it('loses the item of the list that names them, and keeps the 2 others', () => {
    const people = [{ name: 'Bob Ray' }, { name: 'Ann Lee', at: { title: 'CEO' } }, { name: 'Cid' }]
    expect(cut({ results: people, total: 3 })).toEqual({
      results: [people[0], people[2]],
      total: 3,
    })
  })

  it('loses the innermost item: a post stays if a person who shared it goes', () => {
    const post = { text: 'Hello', shares: [{ by: 'Ann Lee' }, { by: 'Bob Ray' }] }
    expect(cut({ posts: [post] })).toEqual({
      posts: [{ text: 'Hello', shares: [{ by: 'Bob Ray' }] }],
    })
  })

  it('is emptied if the name is outside a list, or is the name of a member', () => {
    expect(cut({ data: { author: { name: 'Ann Lee' } }, posts: [1] })).toEqual({})
    expect(cut({ data: { 'Ann Lee': 1 } })).toEqual({})
  })

  it('stays unchanged if it names no one, and goes completely if it is nested too deeply', () => {
    expect(cut({ results: [{ name: 'Bob Ray' }], total: null })).toBeNull()
    const deep = `${'[{"a":'.repeat(20_000)}1${'}]'.repeat(20_000)}`
    expect(cutAnswer(Buffer.from(deep), isAnn)?.body.toString()).toBe('{}')
  })

  it('never names them afterwards, and keeps all texts of other items, in any JSON', () => {
    const text = fc.constantFrom('Ann Lee', 'with Ann Lee', 'Bob Ray', 'Cid', '')
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        text,
        fc.integer(),
        fc.array(tie('value')),
        fc.dictionary(text, tie('value')),
      ),
    }))
    fc.assert(
      fc.property(value, (answer) => {
        const left = cut(answer)
        expect(left === null).toBe(!JSON.stringify(answer).includes('Ann Lee'))
        expect(JSON.stringify(left)).not.toContain('Ann Lee')
      }),
    )
  })
})

describe('a page', () => {
  const cutNumber = (number: number) => (event: unknown) => event === number

  it('loses 1 of 3 events and keeps the others and its members, and is null if none is cut', () => {
    const body = Buffer.from('\uFEFF{ "data" : [ 1.5 , 2 ,\n "[2" ], "x":{"data":[2]} }')
    const cut2 = cutEvents(body, cutNumber(2))
    expect(cut2?.body.toString()).toBe('{"data":[1.5,"[2"],"x":{"data":[2]}}')
    expect([cut2?.places, cut2?.events]).toEqual([[1], 3])
    expect(cutEvents(body, cutNumber(1))).toBeNull()
  })

  it('keeps no earlier list of the same name, and nothing that cannot be written again', () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    const body = Buffer.from(`{"data":[1,"Ann"],"data":[1,${deep},2,2],"more":${deep}}`)
    const cut1 = cutEvents(body, cutNumber(1))
    expect(cut1?.body.toString()).toBe('{"data":[2,2]}')
    expect([cut1?.places, cut1?.events]).toEqual([[0, 1], 4])
  })
})
