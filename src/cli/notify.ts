/**
 * Tells what `notify:` of a pipeline asks for. A message that cannot be delivered never changes how a run ends: it is logged,
 * kept, and tried again with the next run, or within ten minutes under `schedule`.
 */

import { join } from 'node:path'
import { postJson } from '../api/post.ts'
import { expandVariables, isLoopback, proxiesFrom } from '../config.ts'
import { messagesOf, webhookBody, type Message } from '../observe/messages.ts'
import { openOutbox, type Outbox } from '../observe/outbox.ts'
import { runsOf } from '../plan/judge.ts'
import type { NotifySpec } from '../plan/pipeline.ts'
import { readFreshness, type Freshness } from '../run/freshness.ts'
import type { KnownPipeline } from '../run/pipelines.ts'
import { EXIT, JobtideError, messageOf } from '../support/errors.ts'
import { SECOND } from '../support/units.ts'
import type { Context } from './context.ts'

const ATTEMPTS = 3
const PAUSE_MS = 2 * SECOND

/** Tells what there is to tell of these pipelines. Never throws. */
export async function tellAll(context: Context, freshness: Freshness): Promise<void> {
  for (const pipeline of freshness.pipelines) {
    await tell(context, pipeline, messagesNow(pipeline, freshness))
  }
}

/**
 * Does `work`, a run of `named`, and tells before it of a run that was killed and after it how it ended, also where it could not
 * even begin.
 */
export async function tellingOf<T>(
  context: Context,
  named: string,
  work: () => Promise<T>,
): Promise<T> {
  const { directory, clock, logger } = context
  const look = () => readFreshness({ directory, clock, named: [named], maxAgeMs: null })
  const tellNow = async (more: (freshness: Freshness) => Message[] = () => []) => {
    try {
      const freshness = await look()
      const [pipeline] = freshness.pipelines
      if (pipeline === undefined || !pipeline.job?.notify) return
      await tell(context, pipeline, [...messagesNow(pipeline, freshness), ...more(freshness)])
    } catch (error) {
      logger.warn({ reason: messageOf(error) }, 'not_told')
    }
  }
  await tellNow()
  const beganAt = clock.now()
  try {
    const result = await work()
    await tellNow()
    return result
  } catch (error) {
    await tellNow((freshness) => unrecorded(freshness, error, beganAt))
    throw error
  }
}

/** The failure of a run that the journal knows nothing of, such as one that could not begin. */
function unrecorded({ pipelines, judgements, nowMs }: Freshness, error: unknown, beganAt: number) {
  const [pipeline] = pipelines
  const known = error instanceof JobtideError ? error : null
  const exitCode = known?.exitCode ?? EXIT.defect
  const isStop = exitCode === EXIT.interrupted || exitCode === EXIT.terminated
  const isKnown = judgements.some(
    ({ id, since }) => id === 'last_run_killed' || (id === 'last_run_failed' && since >= beganAt),
  )
  if (pipeline === undefined || isStop || isKnown) return []
  const { name } = pipeline
  const text = `a run of ${name} ended with exit ${exitCode} before it began: ${messageOf(error)}`
  const key = `${name}:not_begun:${beganAt}`
  const hint = known?.hint ?? null
  return [
    { key, kind: 'failure', pipeline: name, text, hint, runId: null, at: nowMs } satisfies Message,
  ]
}

function messagesNow({ name }: KnownPipeline, { history, judgements, nowMs }: Freshness) {
  const { last } = runsOf(history, name)
  const end = last?.finished ?? null
  const lastEnd = end && { runId: end.run_id, at: end.at, exitCode: end.exit_code }
  const wrongs = judgements.filter(({ pipeline }) => pipeline === name)
  return messagesOf(name, wrongs, lastEnd, nowMs)
}

async function tell(
  context: Context,
  { name, job }: KnownPipeline,
  messages: readonly Message[],
): Promise<void> {
  const { clock, directory, logger } = context
  const notify = job?.notify
  if (!notify) return
  const outbox = openOutbox(join(directory.root, 'outbox'))
  try {
    const wanted = messages.filter(({ kind }) => notify.on.includes(kind))
    const offered = wanted.filter((message) => !isKept(outbox, message, logger))
    outbox.tidy(clock.now())
    const pending = outbox.pending().filter(({ pipeline }) => pipeline === name)
    for (const message of [...pending, ...offered]) {
      await deliver(context, notify, message)
      outbox.sent(message, clock.now())
    }
  } catch (error) {
    logger.warn({ reason: messageOf(error) }, 'not_told')
  }
}

// What a full disk does not take is told all the same; it may be told again then, under the same key.
function isKept(outbox: Outbox, message: Message, logger: Context['logger']): boolean {
  try {
    outbox.offer(message)
    return true
  } catch (error) {
    logger.warn({ reason: messageOf(error) }, 'not_kept')
    return false
  }
}

/** @throws Error without the address, which may be a secret */
async function deliver(context: Context, notify: NotifySpec, message: Message): Promise<void> {
  const { environment, scrubber, clock, stop } = context
  const { url: text, format } = notify.webhook
  const url = expandVariables(environment, text)
  scrubber.add(url)
  const isSafe = URL.canParse(url) && (url.startsWith('https:') || isLoopbackHttp(url))
  if (!isSafe) throw new Error('notify.webhook.url is not https, or http on this machine')
  const headers = { 'idempotency-key': message.key }
  let why = ''
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    if (attempt > 1) await clock.sleep(PAUSE_MS, stop)
    try {
      const body = webhookBody(message, format)
      const status = await postJson(url, headers, body, proxiesFrom(environment, url))
      if (status >= 200 && status < 300) return
      why = `it answered ${status}`
    } catch (error) {
      why = messageOf(error)
    }
  }
  throw new Error(`the webhook did not take a message: ${why}`)
}

function isLoopbackHttp(url: string): boolean {
  return url.startsWith('http:') && isLoopback(url)
}
