/**
 * `doctor`: checks this installation and says how to fix it. It spends nothing: the service refuses its one, deliberately
 * invalid request.
 */

import { askForFree, type FreeAnswer } from '../api/free-question.ts'
import { NoAnswerError, createTransport } from '../api/transport.ts'
import { apiKeyFrom, baseUrlFrom, proxiesFrom } from '../config.ts'
import { holdOf } from '../journal/pauses.ts'
import { CLOCK_TOLERANCE_MS } from '../journal/clock-history.ts'
import {
  finding,
  keepPause,
  look,
  machineFindings,
  pipelineFindings,
  type Finding,
  type FindingState,
} from '../run/doctor.ts'
import { readFreshness, type Freshness } from '../run/pipelines.ts'
import { packageVersion } from '../support/assets.ts'
import { isoInstant, waitEnd } from '../support/clock.ts'
import { EXIT, JobtideError } from '../support/errors.ts'
import { countText, durationText } from '../support/numbers.ts'
import type { Context } from './context.ts'
import { wrongAddresses } from './notify.ts'
import { meaningOf, wrapLines, type Fact, type Report } from './report.ts'

/** Exits with 2 if there is a problem that would end a run before it buys. */
export async function doctorCommand(context: Context, named: readonly string[]): Promise<Report> {
  const { directory, clock } = context
  const findings = await machineFindings(context)
  const scope = { directory, clock, named, maxAgeMs: null }
  const state = await readFreshness(scope).catch((error: unknown) => {
    if (!(error instanceof JobtideError)) throw error
    return error
  })
  if (state instanceof JobtideError) {
    findings.push(finding('pipelines', 'problem', state.message, state.hint ?? null))
    findings.push(...(await serviceFindings(context, null)))
  } else {
    findings.push(...(await serviceFindings(context, state)))
    findings.push(...(await pipelineFindings(state, context)))
    findings.push(...(await notifyFindings(context, state)))
  }
  const countOf = (how: FindingState) => {
    const count = findings.filter((one) => one.state === how).length
    return count === 0 ? [] : countText(count, how)
  }
  const ok = findings.every(({ state: how }) => how !== 'problem')
  // A hint is about what is not as it should be.
  const told = findings.map((one) => (one.state === 'ok' ? { ...one, hint: null } : one))
  return {
    title: [countOf('problem'), countOf('warning')].flat().join(', ') || 'nothing is wrong',
    sections: [told.map(factOf)],
    notes: ['nothing was bought'],
    values: { ok, findings: told },
    exitCode: ok ? EXIT.done : EXIT.usage,
  }
}

const WIDTH = 80
const LABEL = 16
const STATE = 9

function factOf({ check, state, found, hint }: Finding): Fact {
  const width = WIDTH - LABEL - STATE
  const lines = wrapLines(hint === null ? found : `${found}\n→ ${hint}`, width).split('\n')
  const label = check.length > LABEL - 2 ? `${check.slice(0, LABEL - 3)}…` : check
  return [
    label.padEnd(LABEL - 2),
    lines.map((line, at) => `${(at === 0 ? state : '').padEnd(STATE)}${line}`),
    meaningOf(state) ?? 'dim',
  ]
}

/** Checks address, key and proxy, and how the service answers a free request. */
async function serviceFindings(context: Context, state: Freshness | null): Promise<Finding[]> {
  const { environment, scrubber } = context
  const address = await look('address', () => finding('address', 'ok', baseUrlFrom(environment)))
  const key = await look('key', () => {
    const { secret, source, isWide } = apiKeyFrom(environment)
    scrubber.add(secret.reveal())
    const hint = 'Give it mode 0600, or 0440 for a group.'
    const found = `from ${source}${isWide ? ', which others may read or write' : ''}`
    return finding('key', isWide ? 'warning' : 'ok', found, hint)
  })
  const isReady = address.state !== 'problem' && key.state !== 'problem'
  return [address, key, ...(isReady ? await answerFindings(context, state) : [])]
}

async function answerFindings(context: Context, state: Freshness | null): Promise<Finding[]> {
  const { environment, clock, stop } = context
  // A request during a run would exceed its pace, and a request during a pause is what the service asked us to avoid.
  if (state !== null && state.working !== null) {
    return [finding('service', 'ok', 'not checked: a run is talking to it now')]
  }
  const hold = state && holdOf(state.history, state.nowMs, clock.uptime?.() ?? null)
  if (hold !== null && hold.until > clock.now()) {
    const { until, pause } = hold
    const why = pause === null ? '' : ` (${pause.reason}, at ${isoInstant(pause.at)})`
    const found = `not checked: the service accepts no request before ${waitEnd(until)}${why}`
    const hint = 'If that is a mistake, run with --forget-pause.'
    return [finding('service', 'warning', found, hint)]
  }
  const baseUrl = baseUrlFrom(environment)
  const proxy = await look('proxy', () => {
    const { https, http } = proxiesFrom(environment, baseUrl) ?? {}
    const at = https || http
    return finding('proxy', 'ok', at ? new URL(at).host : 'none')
  })
  if (proxy.state === 'problem') return [proxy]
  const proxies = proxiesFrom(environment, baseUrl)
  const transport = createTransport({
    baseUrl,
    apiKey: apiKeyFrom(environment).secret,
    clock,
    connections: 1,
    userAgent: `jobtide/${packageVersion()}`,
    ...(proxies && { proxies }),
  })
  const beganAt = clock.monotonic()
  try {
    const answer = await askForFree(transport, baseUrl, stop)
    if (answer.notBefore !== null) await keepPause(answer.notBefore, answer.words, context)
    return [proxy, serviceFinding(answer, clock.monotonic() - beganAt), ...clockFindings(answer)]
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error
    const hint = 'Is JOBTIDE_BASE_URL the address of the service? Try again later.'
    return [proxy, finding('service', 'problem', `no answer: ${error.message}`, hint)]
  } finally {
    await transport.close()
  }
}

function serviceFinding({ problem, words, notBefore }: FreeAnswer, tookMs: number): Finding {
  if (problem !== null) {
    return finding('service', 'problem', problem.message, problem.hint ?? null)
  }
  const took = durationText(tookMs)
  if (notBefore === null) {
    return finding('service', 'ok', `accepts the key: ${words} in ${took} to a free request`)
  }
  const hint = `Run nothing before ${waitEnd(notBefore)}: the service asked for this pause.`
  return finding('service', 'warning', `busy: ${words}`, hint)
}

/** These are warnings, because a run succeeds without its messages. */
async function notifyFindings(context: Context, { pipelines }: Freshness): Promise<Finding[]> {
  const findings: Finding[] = []
  const hint = 'Correct it in the pipeline file or the environment: its messages are not delivered.'
  for (const { name, job } of pipelines) {
    if (!job?.notify) continue
    const wrong = await wrongAddresses(context, job.notify)
    const state = wrong.length === 0 ? 'ok' : 'warning'
    const found = wrong.join('; ') || 'has addresses to send to'
    findings.push(finding(`${name} notify`, state, found, hint))
  }
  return findings
}

function clockFindings({ times }: FreeAnswer): Finding[] {
  if (times === null) return []
  const apart = times.ours - times.service
  const state: FindingState = Math.abs(apart) > CLOCK_TOLERANCE_MS ? 'warning' : 'ok'
  const side = apart > 0 ? 'ahead of' : 'behind'
  const found = `this machine is ${durationText(Math.abs(apart))} ${side} the service`
  const hint = 'Correct the clock that is wrong: each run pays for the difference again.'
  return [finding('clock', state, state === 'ok' ? 'agrees with the service' : found, hint)]
}
