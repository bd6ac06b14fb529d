/**
 * Builds the messages about a pipeline from its recorded state, and their formats: JSON, Slack blocks, plain text. The same
 * state gives the same message. Pure.
 */

import type { RunFinished } from '../journal/records.ts'
import type { Judgement } from '../plan/judge.ts'
import { EXIT, isStop } from '../support/errors.ts'
import { cut, lineText, type Line } from '../support/text.ts'

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

/** The key of a problem, which stays the same as long as it lasts. */
export function keyOf(
  pipeline: string,
  { id, runId, since }: Pick<Judgement, 'id' | 'runId' | 'since'>,
) {
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
  wrongs: readonly Judgement[],
  lastEnd: Pick<RunFinished, 'run_id' | 'at' | 'exit_code'> | null,
  nowMs: number,
): Message[] {
  const exitCode = lastEnd?.exit_code
  // The first run needs no message, because the person who sets up the pipeline watches it.
  const told = wrongs.filter(
    ({ id }) => id !== 'never_run' && !(isStop(exitCode) && id === 'last_run_failed'),
  )
  const messages = told.map((wrong): Message => {
    const { id, message, hint, runId } = wrong
    const key = keyOf(pipeline, wrong)
    return { key, kind: kindOf(id, exitCode), pipeline, text: message, hint, runId, at: nowMs }
  })
  if (lastEnd === null || exitCode !== EXIT.done) return messages
  const { run_id: runId, at } = lastEnd
  const good = (kind: MessageKind, text: string): Message => {
    return { key: `${runId}:${kind}:${at}`, kind, pipeline, text, hint: null, runId, at }
  }
  const ended = good('success', `${pipeline} ended well`)
  if (told.length > 0) return [...messages, ended]
  return [good('recovered', `${pipeline} is as it should be again: its last run ended well`), ended]
}

function kindOf(id: string, exitCode: number | undefined): MessageKind {
  if (id === 'last_run_failed') return exitCode === EXIT.budget ? 'budget' : 'failure'
  return id === 'last_run_killed' || id === 'pipeline_unreadable' ? 'failure' : 'stale'
}

export interface Notice {
  /** Identifies the notice forever: a receiver can drop a second one with the same key. */
  readonly key: string
  /** One line. */
  readonly subject: string
  readonly paragraphs: readonly (readonly Line[])[]
  /** The JSON for programs. */
  readonly document: object
  /** When it was made, milliseconds since 1970 UTC. */
  readonly at: number
}

export function noticeOf(message: Message): Notice {
  const { key, kind, pipeline, text, hint, runId, at } = message
  const lines = [text, ...(hint === null ? [] : [`→ ${hint}`])]
  return {
    key,
    subject: `Jobtide ${pipeline}: ${kind}`,
    paragraphs: [lines.map((line) => ({ text: line, link: null }))],
    document: { key, kind, pipeline, text, hint, run_id: runId, at: new Date(at).toISOString() },
    at,
  }
}

/** Adds the origin to a notice, because its reader may run Jobtide in several places. */
export function sentFrom(
  notice: Notice,
  { host, dataDir }: { readonly host: string; readonly dataDir: string },
): Notice {
  const { document } = notice
  const place = { text: `${host}, ${dataDir}`, link: null }
  const last = [...(notice.paragraphs.at(-1) ?? []), place]
  return {
    ...notice,
    paragraphs: [...notice.paragraphs.slice(0, -1), last],
    document: { ...document, host, data_dir: dataDir },
  }
}

/** The body of a mail, or what a terminal shows. */
export function plainText(paragraphs: Notice['paragraphs']): string {
  return paragraphs.map((lines) => `${lines.map(lineText).join('\n')}\n`).join('\n')
}

// Limits of Slack: https://docs.slack.dev/reference/block-kit/blocks
const MOST_BLOCKS = 50
const LONGEST_TEXT = 3_000
const LONGEST_HEADER = 150

export function slackBody({ subject, paragraphs }: Pick<Notice, 'subject' | 'paragraphs'>): object {
  const texts = paragraphs.flatMap((lines) => packed(lines.map(slackLine)))
  const header = {
    type: 'header',
    text: { type: 'plain_text', text: cut(subject, LONGEST_HEADER), emoji: false },
  }
  // Verbatim, so that no text becomes a channel, a person or a link.
  const sections = texts.map((text) => {
    return { type: 'section', text: { type: 'mrkdwn', text, verbatim: true } }
  })
  const summary = [subject, paragraphs[0]?.[0]?.text].filter(Boolean).join(': ')
  return {
    text: slackLine({ text: summary, link: null }),
    blocks: [header, ...sections].slice(0, MOST_BLOCKS),
  }
}

function slackLine({ text, link }: Line): string {
  const target = link === null ? '' : ` <${escaped(link).replaceAll('|', '%7C')}|profile>`
  for (let length = text.length; ; length = Math.floor(length / 2)) {
    const line = escaped(unformatted(cut(text, length))) + target
    if (line.length <= LONGEST_TEXT) return line
  }
}

/** Joins lines into as few texts as possible. */
function packed(lines: readonly string[]): string[] {
  const texts: string[] = []
  for (const line of lines) {
    const longer = [texts.at(-1), line].filter((text) => text !== undefined).join('\n')
    if (texts.length > 0 && longer.length <= LONGEST_TEXT) texts[texts.length - 1] = longer
    else texts.push(line)
  }
  return texts
}

// Slack has no escape for its formatting. Within a word, such as a path, these characters do not format; single backticks are
// our own.
const FORMATS =
  /(?<![\p{L}\p{N}])[*_~]+|[*_~]+(?![\p{L}\p{N}])|`{2,}|^\s*>+|:(?=[\w+'-]*[a-z][\w+'-]*:)/gu
const PLAIN_FORMS = new Map([
  ['*', '\u2217'],
  ['_', '\u02CD'],
  ['~', '\u223C'],
  ['`', '\u02CB'],
  ['>', '\u203A'],
  [':', '\uA789'],
])

/** Replaces Slack's formatting characters in text from outside with characters that look the same. */
function unformatted(text: string): string {
  return text.replaceAll(FORMATS, (marks) =>
    Array.from(marks, (mark) => PLAIN_FORMS.get(mark) ?? mark).join(''),
  )
}

// Slack asks for these three and no others.
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
