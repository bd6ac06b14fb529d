import { describe, expect, it } from 'vitest'
import { failedChecksText } from '../../src/cli/failed-checks.ts'

describe('failed checks', () => {
  it('are shown with their rows as tables, and how many there are besides the 2 shown', () => {
    const text = failedChecksText(
      [
        {
          name: 'flows_count_every_move_once',
          offenders: 1,
          sample: [{ in_flows: '12', in_moves: '13' }],
        },
        {
          name: 'joiners_level_has_known_values',
          offenders: 1_200,
          sample: [
            { event_key: 'a', level: null },
            { event_key: 'b', level: 'chef\u001b[2J' },
          ],
        },
      ],
      80,
    )
    expect(text.split('\n')).toEqual([
      '  flows_count_every_move_once: 1 row',
      '    in_flows  in_moves',
      '    12        13',
      '  joiners_level_has_known_values: 1,200 rows, the first 2 of them',
      '    event_key  level',
      '    a          –',
      '    b          chef·[2J',
    ])
  })

  it('cut long values where a line would be wider than the terminal', () => {
    const text = failedChecksText(
      [{ name: 'one', offenders: 1, sample: [{ title: 'x'.repeat(200), n: 1 }] }],
      60,
    )
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(60)
    expect(text).toContain('…')
  })
})
