/** The destinations of `notify:`: the webhook, each mail address, and the heartbeat. */

import { hostname } from 'node:os'
import { join } from 'node:path'
import { sendSmall } from '../api/post.ts'
import { expandVariables, isLoopback, proxiesFrom, smtpUrlFrom } from '../config.ts'
import { sentFrom, slackBody, type Notice } from '../observe/notice.ts'
import type { NotifySpec, Told } from '../plan/pipeline-fields.ts'
import { messageOf } from '../support/errors.ts'
import { sha256Hex } from '../support/hash.ts'
import { SECOND } from '../support/units.ts'
import type { Context } from './context.ts'

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
      deliver: (notice: Notice) => post(context, hook, sentFrom(notice, place)),
    })),
    ...(email?.to ?? []).map((to, at) => ({
      name: `email.to, address ${at + 1}`,
      folder: folderOf(`email ${to}`),
      on: email?.on ?? on,
      check: async () => void (await mailing(context)),
      deliver: (notice: Notice) => mail(context, email?.from ?? '', to, sentFrom(notice, place)),
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

/** Reports that a run succeeded. @throws Error without the address */
export async function sendHeartbeat(context: Context, heartbeat: string): Promise<void> {
  await request(context, HEARTBEAT, heartbeat, {}, null)
}

function post(
  context: Context,
  { url, format }: NonNullable<NotifySpec['webhook']>,
  notice: Notice,
) {
  const body = format === 'slack' ? slackBody(notice) : notice.document
  return request(context, WEBHOOK, url, { 'idempotency-key': notice.key }, body)
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

async function mail(context: Context, from: string, to: string, notice: Notice): Promise<void> {
  context.scrubber.add(to)
  const { server, send } = await mailing(context)
  await insisting(context, () => send(server, { from, to, notice }))
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
