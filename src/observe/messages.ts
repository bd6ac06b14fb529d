/** Builds the messages about a pipeline from its recorded state: the same state gives the same message. Pure. */

import { EXIT, isStop } from '../support/errors.ts'

export type MessageKind = 'failure' | 'budget' | 'stale' | 'recovered' | 'success'

/** A message: counts and sentences without personal data. */
export interface Message {
  /** Identifies the message forever: only one message is sent for a key. */
  readonly key: string
  readonly kind: MessageKind
  readonly pipeline: string
  readonly text: string
  /** What to do; null if nothing. */
  readonly hint: string | null
  readonly runId: string | null
  /** When the problem was found or its run ended, milliseconds since 1970 UTC. */
  readonly at: number
}

/** A problem of a pipeline. */
export interface Wrong {
  readonly id: string
  readonly message: string
  readonly hint: string
  readonly runId: string | null
  readonly since: number
}

/** How the last run of a pipeline ended. */
export interface LastEnd {
  readonly runId: string
  readonly at: number
  readonly exitCode: number
}

// The first run needs no message, because the person who sets up the pipeline watches it.
const NOT_TOLD = new Set(['never_run'])

/** The key of a problem, which stays the same as long as it lasts. */
export function keyOf(pipeline: string, { id, runId, since }: Omit<Wrong, 'message' | 'hint'>) {
  return `${runId ?? pipeline}:${id}:${since}`
}

/** The key of the problem that prevented the run due at `due`, whether it could not begin or was never started. */
export function missedKey(pipeline: string, due: number): string {
  return keyOf(pipeline, { id: 'missed_schedule', runId: null, since: due })
}

/**
 * All messages about `pipeline` now. `recovered` goes only to destinations whose last message reported trouble.
 * @param lastEnd null while its last run has not ended
 */
export function messagesOf(
  pipeline: string,
  wrongs: readonly Wrong[],
  lastEnd: LastEnd | null,
  nowMs: number,
): Message[] {
  const isStopped = isStop(lastEnd?.exitCode)
  const told = wrongs.filter(
    ({ id }) => !NOT_TOLD.has(id) && !(isStopped && id === 'last_run_failed'),
  )
  const messages = told.map((wrong): Message => {
    const { id, message, hint, runId } = wrong
    const key = keyOf(pipeline, wrong)
    return { key, kind: kindOf(id, lastEnd), pipeline, text: message, hint, runId, at: nowMs }
  })
  if (lastEnd?.exitCode !== EXIT.done) return messages
  const { runId, at } = lastEnd
  const good = (kind: MessageKind, text: string): Message => {
    return { key: `${runId}:${kind}:${at}`, kind, pipeline, text, hint: null, runId, at }
  }
  const ended = good('success', `${pipeline} ended well`)
  if (told.length > 0) return [...messages, ended]
  return [good('recovered', `${pipeline} is as it should be again: its last run ended well`), ended]
}

function kindOf(id: string, lastEnd: LastEnd | null): MessageKind {
  if (id === 'last_run_failed') return lastEnd?.exitCode === EXIT.budget ? 'budget' : 'failure'
  return id === 'last_run_killed' || id === 'pipeline_unreadable' ? 'failure' : 'stale'
}
