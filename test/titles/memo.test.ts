/** Answers that are remembered are the same as those given anew, and bounded in number. */

import { describe, expect, it } from 'vitest'
import { Memo } from '../../src/titles/memo.ts'

function asking(memo: Memo<string | null>) {
  const read: string[] = []
  const ask = (key: string, answer: string | null = key.toUpperCase()) =>
    memo.recall(key, () => {
      read.push(key)
      return answer
    })
  return { read, ask }
}

describe('a memo of 2 answers', () => {
  it('reads each of 2 keys once, however often they are asked for; null is an answer, too', () => {
    const { read, ask } = asking(new Memo(2))
    for (let time = 0; time < 3; time += 1) {
      expect(ask('a')).toBe('A')
      expect(ask('b', null)).toBeNull()
    }
    expect(read).toEqual(['a', 'b'])
  })

  it('keeps what is asked for again while 6 others pass, and forgets what is not', () => {
    const { read, ask } = asking(new Memo(2))
    ask('rare', null)
    for (const other of ['b', 'c', 'd', 'e', 'f', 'g']) {
      ask('often', null)
      ask(other)
    }
    ask('rare', null)
    expect(read).toEqual(['rare', 'often', 'b', 'c', 'd', 'e', 'f', 'g', 'rare'])
  })
})
