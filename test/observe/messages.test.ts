import { describe, expect, it } from 'vitest'
import { messagesOf, type Message } from '../../src/observe/messages.ts'
import { openOutbox } from '../../src/observe/outbox.ts'
import type { Judgement, JudgementId } from '../../src/plan/judge.ts'
import { EXIT, type ExitCode } from '../../src/support/errors.ts'
import { DAY, HOUR, MINUTE } from '../../src/support/units.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const NOW = Date.UTC(2026, 10, 24)

const wrong = (id: JudgementId): Judgement => {
  const about = { pipeline: 'nightly', runId: 'run-1', since: NOW - MINUTE }
  return { id, message: `${id} it is`, hint: 'Do it again.', ...about }
}
const ended = (exit_code: ExitCode, at = NOW - MINUTE) => ({ run_id: 'run-1', at, exit_code })
const anOutbox = () =>
  openOutbox(temporaryFolder(), (error) => {
    throw error
  })
const kinds = (messages: readonly Message[]) => messages.map(({ kind }) => kind)

describe('the message about a pipeline', () => {
  it.each([
    ['last_run_failed', EXIT.storage, 'failure'],
    ['last_run_failed', EXIT.budget, 'budget'],
    ['last_run_killed', null, 'failure'],
    ['pipeline_unreadable', null, 'failure'],
    ['missed_schedule', null, 'stale'],
    ['too_old', null, 'stale'],
    ['coverage_gaps', null, 'stale'],
  ] as const)(
    '%s after exit %s is %s, under one key however late it is checked',
    (id, exit, kind) => {
      const end = exit === null ? null : ended(exit)
      const [now] = messagesOf('nightly', [wrong(id)], end, NOW)
      const [later] = messagesOf('nightly', [wrong(id)], end, NOW + DAY)
      expect(now).toMatchObject({ kind, pipeline: 'nightly', text: `${id} it is`, at: NOW })
      expect(later?.key).toBe(now?.key)
    },
  )

  it('is empty before the first run and after a run stopped on purpose, and reports recovery only if nothing is wrong', () => {
    expect(messagesOf('nightly', [wrong('never_run')], null, NOW)).toEqual([])
    const stopped = messagesOf('nightly', [wrong('last_run_failed')], ended(EXIT.terminated), NOW)
    expect(stopped).toEqual([])
    expect(kinds(messagesOf('nightly', [], ended(EXIT.done), NOW))).toEqual([
      'recovered',
      'success',
    ])
    const gaps = messagesOf('nightly', [wrong('coverage_gaps')], ended(EXIT.done), NOW)
    expect(kinds(gaps)).toEqual(['stale', 'success'])
  })
})

describe('an outbox', () => {
  it('knows of no failure before it was reported: a good run an hour earlier is not a recovery', () => {
    const outbox = anOutbox()
    const [trouble] = messagesOf('nightly', [wrong('too_old')], null, NOW)
    if (trouble) outbox.offer(trouble)
    const ends = [NOW - HOUR, NOW + HOUR].map(
      (at) => messagesOf('nightly', [], ended(EXIT.done, at), NOW)[0]?.at ?? 0,
    )
    expect(ends.map((at) => outbox.wasTroubled('nightly', at))).toEqual([false, true])
  })

  it('knows whether the last message about each pipeline was a failure, keeps sent messages for 60 days, and gives up after 7', () => {
    const outbox = anOutbox()
    const [trouble] = messagesOf('nightly', [wrong('too_old')], null, NOW)
    const [recovered, success] = messagesOf('nightly', [], ended(EXIT.done, NOW + DAY), NOW + DAY)
    if (!trouble || !recovered || !success) throw new Error('no messages')
    const states = [trouble, success, recovered].map((message) => {
      outbox.offer(message)
      return [outbox.wasTroubled('nightly', NOW + DAY), outbox.wasTroubled('weekly', NOW + DAY)]
    })
    expect(states).toEqual([
      [true, false],
      [true, false],
      [false, false],
    ])
    outbox.sent(recovered, NOW + DAY)
    outbox.offer(recovered)
    expect(outbox.pending()).toEqual([trouble, success])
    outbox.tidy(NOW + 7.5 * DAY)
    expect(outbox.pending()).toEqual([success])
    outbox.tidy(NOW + 60 * DAY)
    expect([outbox.pending(), outbox.wasTroubled('nightly', NOW + DAY)]).toEqual([[], false])
    outbox.offer(recovered)
    expect(outbox.pending()).toEqual([])
    outbox.tidy(NOW + 62 * DAY)
    outbox.offer(recovered)
    expect(outbox.pending()).toEqual([recovered])
  })
})
