/**
 * Sends the messages that `notify:` of a pipeline asks for. A message that cannot be delivered never changes how a run ends:
 * it is logged, kept, and retried with the next run, or within ten minutes under `schedule`.
 */

import { hostname } from 'node:os'
import { join } from 'node:path'
import { sendSmall } from '../api/post.ts'
import { expandVariables, isLoopback, proxiesFrom, smtpUrlFrom } from '../config.ts'
import { emptyHistory } from '../journal/history.ts'
import {
  keyOf,
  messagesOf,
  missedKey,
  noticeOf,
  sentFrom,
  slackBody,
  type Message,
  type Notice,
} from '../observe/messages.ts'
import { openOutbox, openTold, type PendingDigest, type ToldChanges } from '../observe/outbox.ts'
import { lastDue } from '../plan/due.ts'
import { concerns, missingSince, runsOf, type Judgement } from '../plan/judge.ts'
import type { NotifySpec, Told } from '../plan/pipeline-fields.ts'
import { readChanges, readUntold, untoldLines, type Untold } from '../report/digest.ts'
import type { RunCommand } from '../run/begin.ts'
import type { Job } from '../run/job.ts'
import {
  partsOf,
  readFreshness,
  readPipelines,
  type Freshness,
  type KnownPipeline,
} from '../run/pipelines.ts'
import type { RunReport } from '../run/run.ts'
import { isoInstant } from '../support/clock.ts'
import { ConfigError, EXIT, JobtideError, isStop, messageOf } from '../support/errors.ts'
import { sha256Hex } from '../support/hash.ts'
import { countText } from '../support/numbers.ts'
import { DAY, MINUTE, SECOND } from '../support/units.ts'
import { tryProcessLock } from '../warehouse/process-lock.ts'
import type { Context } from './context.ts'
import { whileReading } from './reading.ts'
import { problemOf } from './run-result.ts'

const LONGEST_WAIT_MS = MINUTE

/** Sends all pending messages about these pipelines. Never throws. */
export async function notifyAll(context: Context, freshness: Freshness): Promise<void> {
  for (const pipeline of freshness.pipelines)
    await tell(context, pipeline, messagesNow(pipeline, freshness), 'pending')
}

/**
 * Reports that the journal cannot be read, from the pipeline files alone: once each time a pipeline is due. Never throws.
 * @param named as in readFreshness @param error why it could not be read; errors of pipeline files are not reported here
 */
export async function notifyUnreadable(
  context: Context,
  named: readonly string[],
  error: unknown,
): Promise<void> {
  if (error instanceof ConfigError) return
  const { clock, directory, logger } = context
  try {
    const others = named.length === 0 ? emptyHistory() : null
    const pipelines = await readPipelines(named, directory.root, others, true)
    for (const pipeline of pipelines.filter(({ isExpected }) => isExpected))
      await tell(context, pipeline, [unreadable(pipeline, error, clock.now())], 'none')
  } catch (problem) {
    // The command itself ends with an error for a pipeline that is missing or unreadable.
    if (!(problem instanceof ConfigError)) logger.warn({ reason: messageOf(problem) }, 'not_told')
  }
}

/** Different damage has a different key; without a schedule it is reported once a day. */
function unreadable({ name, schedule }: KnownPipeline, error: unknown, nowMs: number): Message {
  const why = messageOf(error)
  const since = (schedule && lastDue(schedule, nowMs)) ?? Math.floor(nowMs / DAY) * DAY
  const key = `${name}:journal_unreadable:${sha256Hex(why).slice(0, 16)}:${since}`
  const text = `${name} cannot run, because its journal cannot be read: ${why}`
  return failure(name, key, text, hintOf(error), nowMs)
}

function failure(pipeline: string, key: string, text: string, hint: string | null, at: number) {
  return { key, kind: 'failure', pipeline, text, hint, runId: null, at } satisfies Message
}

function hintOf(error: unknown): string | null {
  return (error instanceof JobtideError ? error.hint : null) ?? null
}

/** Which digest to send: changes that are new to a destination, only the pending one, or none. */
type Digests = 'new' | 'pending' | 'none'

/**
 * Does `work`, a run of `named`. Reports an earlier killed run before it; afterwards its end, even if it could not begin, and
 * the changes.
 */
export async function withNotifications<Run extends RunReport>(
  context: Context,
  named: string,
  command: RunCommand,
  work: () => Promise<Run>,
): Promise<Run> {
  const before = await tellNow(context, named, 'none', { isBefore: true })
  const beganAt = context.clock.now()
  try {
    const result = await work()
    // Only a load shows the pages it bought.
    const isLoaded = command !== 'extract' && result.stageFailure === null
    await tellNow(context, named, isLoaded ? 'new' : 'none')
    const { heartbeat } = partsOf(named).notify ?? {}
    if (problemOf(result) === null && heartbeat !== undefined) {
      const beat = () => request(context, HEARTBEAT, heartbeat, {}, null)
      await unlessFailed(context, `${HEARTBEAT}: `, beat)
    }
    return result
  } catch (error) {
    const more = (freshness: Freshness) => unrecorded(freshness, error, beganAt, before)
    await tellNow(context, named, 'none', { more })
    throw error
  }
}

interface TellChoices {
  /** Before a run, which may continue without lost segments of the journal, and complete an erasure. */
  readonly isBefore?: boolean
  readonly more?: (freshness: Freshness) => Message[]
}

/** Sends what there is to say of a pipeline now. Never throws. @returns keys of the problems */
async function tellNow(
  context: Context,
  named: string,
  digests: Digests,
  { isBefore = false, more = () => [] }: TellChoices = {},
): Promise<ReadonlySet<string>> {
  const { directory, clock } = context
  // Looks for problems only if a destination wants them, because pipeline lists are long.
  if (partsOf(named).notify === null) return new Set()
  const scope = { directory, clock, named: [named], isTolerant: true, maxAgeMs: null }
  const found = await readFreshness(scope).catch(async (error: unknown) => {
    if (!isBefore) await notifyUnreadable(context, [named], error)
    return null
  })
  const [pipeline] = found?.pipelines ?? []
  if (found === null || pipeline === undefined) return new Set()
  const judgements = found.judgements.filter(({ id }) => !(isBefore && id === 'erasure_pending'))
  const freshness = { ...found, judgements }
  await unlessFailed(context, '', () =>
    tell(context, pipeline, [...messagesNow(pipeline, freshness), ...more(freshness)], digests),
  )
  return new Set(judgements.map(keyOfJudgement))
}

/**
 * The failure of a run that is not in the journal, such as one that could not begin. If that run was due, it counts as missed
 * under the same key, so it is reported once. @param before keys of problems before the run
 */
function unrecorded(
  { history, pipelines, judgements, nowMs }: Freshness,
  error: unknown,
  beganAt: number,
  before: ReadonlySet<string>,
): Message[] {
  const [pipeline] = pipelines
  const exitCode = error instanceof JobtideError ? error.exitCode : EXIT.defect
  const isKnown = judgements.some(
    (one) => OF_THE_LAST_RUN.has(one.id) && !before.has(keyOfJudgement(one)),
  )
  if (pipeline === undefined || isStop(exitCode) || isKnown) return []
  const { name, schedule } = pipeline
  const due = missingSince(schedule, runsOf(history, name), beganAt)
  const text = `a run of ${name} ended with exit ${exitCode} before it began: ${messageOf(error)}`
  const key = due === null ? `${name}:not_begun:${beganAt}` : missedKey(name, due)
  return [failure(name, key, text, hintOf(error), nowMs)]
}

const keyOfJudgement = (one: Judgement) => keyOf(one.pipeline ?? '', one)
const OF_THE_LAST_RUN: ReadonlySet<string> = new Set(['last_run_failed', 'last_run_killed'])

function messagesNow(pipeline: KnownPipeline, { history, judgements, nowMs }: Freshness) {
  const { name } = pipeline
  const { last } = runsOf(history, name)
  // An unreadable file is reported only when it prevents a run, because it may be being written. A run that could not begin was
  // reported when it ended.
  const wrongs = judgements.filter(
    (one) =>
      concerns(one, name) &&
      one.id !== 'pipeline_unreadable' &&
      !(one.id === 'last_run_failed' && one.runId === null),
  )
  return [
    ...keptAway(pipeline, history, nowMs),
    ...messagesOf(name, wrongs, last?.finished ?? null, nowMs),
  ]
}

/** Reports, once for each due time, a pipeline that could not run because its file or list cannot be read. */
function keptAway(
  { name, schedule, problem }: KnownPipeline,
  history: Freshness['history'],
  nowMs: number,
): Message[] {
  const runs = runsOf(history, name)
  const due = missingSince(schedule, runs, nowMs)
  // The person who sets up the pipeline watches the first run.
  if (problem === null || due === null || runs.last === null) return []
  const text = `${name} was due and could not run: ${problem}`
  return [failure(name, missedKey(name, due), text, FIX, nowMs)]
}

const FIX =
  'Fix the cause named above: `jobtide schedule` runs it within ten minutes, cron at the next scheduled time.'

async function tell(
  context: Context,
  pipeline: KnownPipeline,
  messages: readonly Message[],
  digests: Digests,
): Promise<void> {
  const { notify } = pipeline
  if (notify === null) return
  // In parallel, so that an unreachable destination does not delay the others.
  const telling = destinationsOf(context, notify).map((destination) =>
    unlessFailed(context, `notify.${destination.name}: `, () =>
      tellOne(context, destination, pipeline, messages, digests),
    ),
  )
  await Promise.all(telling)
}

async function unlessFailed({ logger }: Context, what: string, work: () => Promise<void>) {
  try {
    await work()
  } catch (error) {
    logger.warn({ reason: `${what}${messageOf(error)}` }, 'not_told')
  }
}

async function tellOne(
  context: Context,
  destination: Destination,
  { name: pipeline, job }: KnownPipeline,
  messages: readonly Message[],
  digests: Digests,
): Promise<void> {
  const { clock, logger } = context
  const { folder, on } = destination
  const outbox = openOutbox(folder, (error) =>
    logger.warn({ reason: messageOf(error) }, 'not_kept'),
  )
  const wanted = messages
    .filter(({ kind }) => on.includes(kind))
    .filter(({ kind, at }) => kind !== 'recovered' || outbox.wasTroubled(pipeline, at))
  for (const message of wanted) outbox.offer(message)
  outbox.tidy(clock.now())
  const pending = () => outbox.pending().filter((message) => message.pipeline === pipeline)
  const isDigest =
    on.includes('digest') &&
    job?.collection === null &&
    (digests === 'new' || (digests === 'pending' && openTold(folder).pending() !== null))
  if (pending().length === 0 && !isDigest) return
  await alone(context, destination, async () => {
    for (const message of pending()) {
      await destination.deliver(noticeOf(message))
      outbox.sent(message, clock.now())
    }
    if (isDigest && job !== null) await tellDigest(context, destination, job)
  })
}

/** Sends under a lock, so that only one of two processes sends a message from the same outbox. */
async function alone(
  { clock, stop }: Context,
  { folder }: Destination,
  work: () => Promise<void>,
): Promise<void> {
  const giveUpAt = clock.monotonic() + LONGEST_WAIT_MS
  // A full disk prevents the lock: sending twice under one key is better than not sending.
  const take = () => tryProcessLock(join(folder, 'lock')).catch(() => undefined)
  let lock = await take()
  while (lock === null) {
    if (clock.monotonic() >= giveUpAt) throw new Error('another process is sending')
    await clock.sleep(SECOND, stop)
    lock = await take()
  }
  try {
    await work()
  } finally {
    await lock?.release()
  }
}

/**
 * Sends the pending digest, then the newer changes of the pipeline's organisations that were never sent to this destination.
 * Only one process at a time may do this for a destination. @throws Error when it was not accepted; the next call continues
 * there
 */
export async function tellDigest(
  context: Pick<Context, 'directory' | 'clock' | 'output'>,
  destination: Pick<Destination, 'folder' | 'deliver'>,
  job: Pick<Job, 'pipeline' | 'question'>,
  ledger: ToldChanges = openTold(destination.folder),
): Promise<void> {
  const { organizations } = job.question
  for (let isLast = false; !isLast;) {
    isLast = ledger.pending() === null
    // Closed before anything is sent: a warehouse that is open stops a run that wants to write.
    const next = await whileReading(context, async (warehouse) => {
      if (isLast) {
        const names = await readUntold(warehouse, ledger.told(), organizations)
        if (names === '') return null
        const key = `${job.pipeline}:digest:${sha256Hex(names).slice(0, 32)}`
        ledger.begin({ key, pipeline: job.pipeline, at: context.clock.now(), names })
      }
      const digest = ledger.pending()
      return digest && { digest, untold: await readChanges(warehouse, digest.names) }
    })
    if (next === null) return
    // The digest has no one left after an erasure of all its people.
    if (next.untold.total > 0) await destination.deliver(digestNotice(next.digest, next.untold))
    ledger.sent()
  }
}

function digestNotice({ key, pipeline, at }: PendingDigest, untold: Untold): Notice {
  const { counts, total, changes, command } = untold
  const text = countText(total, 'job change')
  const about = { key, kind: 'digest', pipeline, text, hint: command, run_id: null } as const
  const found = { counts, changes, more: total - changes.length }
  return {
    key,
    subject: `Jobtide ${pipeline}: ${text}`,
    paragraphs: untoldLines(untold),
    document: { ...about, at: isoInstant(at), ...found },
    at,
  }
}

const ATTEMPTS = 3
const PAUSE_MS = 2 * SECOND
const WEBHOOK = 'notify.webhook.url'
const HEARTBEAT = 'notify.heartbeat'

export interface Destination {
  /** Its name in the log, without secrets or personal names. */
  readonly name: string
  /** The folder of its outbox. */
  readonly folder: string
  readonly on: readonly Told[]
  /** Whether its address can work, as far as this machine knows. @throws Error that says what is wrong */
  check(): Promise<void>
  /** Sends it with the names of this machine and data directory. @throws Error when it was not taken; without an address */
  deliver(notice: Notice): Promise<void>
}

/** The destinations of a pipeline. The same address in two pipelines is one destination. */
export function destinationsOf(context: Context, spec: NotifySpec): Destination[] {
  const { on, webhook, email } = spec
  const { root } = context.directory
  const folderOf = (id: string) => join(root, 'outbox', sha256Hex(id).slice(0, 16))
  const place = { host: hostname(), dataDir: root }
  const hooks = webhook === undefined ? [] : [webhook]
  return [
    ...hooks.map((hook) => ({
      name: 'webhook',
      folder: folderOf(`webhook ${hook.url} ${hook.format}`),
      on: hook.on ?? on,
      check: async () => void addressOf(context, WEBHOOK, hook.url),
      deliver: (told: Notice) => {
        const notice = sentFrom(told, place)
        const body = hook.format === 'slack' ? slackBody(notice) : notice.document
        return request(context, WEBHOOK, hook.url, { 'idempotency-key': notice.key }, body)
      },
    })),
    ...(email?.to ?? []).map((to, at) => ({
      name: `email.to, address ${at + 1}`,
      folder: folderOf(`email ${to}`),
      on: email?.on ?? on,
      check: async () => void (await mailing(context)),
      deliver: async (told: Notice) => {
        context.scrubber.add(to)
        const { server, send } = await mailing(context)
        const mail = { from: email?.from ?? '', to, notice: sentFrom(told, place) }
        await insisting(context, () => send(server, mail))
      },
    })),
  ]
}

/** Checks the addresses of a pipeline and returns the problems. Sends nothing. */
export async function wrongAddresses(context: Context, notify: NotifySpec): Promise<string[]> {
  const beat = async ({ heartbeat }: NotifySpec) =>
    void (heartbeat && addressOf(context, HEARTBEAT, heartbeat))
  const checks = destinationsOf(context, notify).map((destination) => destination.check())
  const found = await Promise.allSettled([...checks, beat(notify)])
  return [...new Set(found.flatMap((one) => ('reason' in one ? messageOf(one.reason) : [])))]
}

async function request(
  context: Context,
  what: string,
  address: string,
  headers: Readonly<Record<string, string>>,
  body: object | null,
): Promise<void> {
  const url = addressOf(context, what, address)
  await insisting(context, async () => {
    const status = await sendSmall(url, headers, body, proxiesFrom(context.environment, url))
    if (status < 200 || status >= 300) throw new Error(`it answered ${status}`)
  })
}

/** The address with its variables filled in. @throws Error without the address, which may hold a secret */
function addressOf({ environment, scrubber }: Context, what: string, address: string): string {
  const url = expandVariables(environment, address)
  scrubber.add(url)
  const isHttp = url.startsWith('http:')
  const isSafe = URL.canParse(url) && (url.startsWith('https:') || (isHttp && isLoopback(url)))
  if (!isSafe) throw new Error(`${what} is not https, or http on this machine`)
  return url
}

/** @throws Error where no mail server is named, or not as an address */
async function mailing({ environment, scrubber }: Context) {
  // Imported here, so that only a command that sends mail waits for the library.
  const { mailServer, sendMail } = await import('../observe/mail.ts')
  const url = smtpUrlFrom(environment)
  scrubber.add(url)
  const server = mailServer(url)
  if (server.login !== null) scrubber.add(server.login.pass)
  return { server, send: sendMail }
}

/** Tries three times. @throws what went wrong the last time */
async function insisting({ clock, stop }: Context, work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (attempt === ATTEMPTS) throw new Error(messageOf(error), { cause: error })
      await clock.sleep(PAUSE_MS, stop)
    }
  }
}
