/** `listen`: receives signal deliveries until stopped; each is on the disk before it is acknowledged. */

import { webhookSecretFrom } from '../config.ts'
import { filesOfInbox, openInbox, openRefusals } from '../inbox/inbox.ts'
import { createReceiver, type Signature } from '../inbox/receiver.ts'
import { backUpWhereKnown } from '../run/backup/back-up.ts'
import { openJournal } from '../journal/journal.ts'
import { knownBackups } from '../run/backup/backup-target.ts'
import { withJournal } from '../run/session.ts'
import { makeFolder } from '../support/atomic-file.ts'
import {
  ConfigError,
  EXIT,
  JobtideError,
  messageOf,
  onDisk,
  type ExitCode,
} from '../support/errors.ts'
import { closeServer, listenAt } from '../support/loopback.ts'
import { countText } from '../support/numbers.ts'
import { HOUR, MIB } from '../support/units.ts'
import type { Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/
const DELIVERY_PATH = /^\/[\w./~-]*$/
const UNSIGNED =
  'no JOBTIDE_WEBHOOK_SECRET: deliveries from anyone who reaches the port are accepted'
const HEADER_NAME = /^[\w-]+$/

export async function listenCommand(
  context: Context,
  options: OptionsOf<'listen'>,
): Promise<ExitCode> {
  const { clock, output, directory, logger } = context
  const { port, host, path, largestMib } = options
  const signature = signatureOf(context, options)
  if (!DELIVERY_PATH.test(path) || path === '/health') {
    throw new ConfigError(`--path ${path}: expected a path such as /signals, other than /health`)
  }
  if (signature === null && !LOOPBACK.test(host)) {
    throw new ConfigError(`--host ${host}: anyone could deliver there, because nothing is signed`, {
      hint: 'Set JOBTIDE_WEBHOOK_SECRET to the secret that the signal was created with, or listen on 127.0.0.1.',
    })
  }
  onDisk(directory.root, () => makeFolder(directory.root))
  const refusals = openRefusals(directory.inbox, clock)
  const counts = { kept: 0, refused: 0, failed: 0 }
  const receiver = createReceiver({
    inbox: openInbox(directory.inbox, clock),
    path,
    mostBytes: largestMib * MIB,
    ...(signature && { signature }),
    onAnswer: (status, reason, cause) => {
      if (reason === 'health') return
      counts[status < 300 ? 'kept' : status < 500 ? 'refused' : 'failed'] += 1
      refusals.note(status, reason)
      if (status < 300) logger.debug({ status }, 'delivery.kept')
      else if (status < 500) logger.warn({ status, reason }, 'delivery.refused')
      else logger.error({ status, reason: messageOf(cause) }, 'delivery.failed')
    },
  })
  const url = await listenAt(receiver, host, port)
  if (signature === null) logger.warn({ reason: UNSIGNED }, 'unsigned')
  try {
    output.report({
      title: `listening at ${url}${path} (stop with Ctrl-C)`,
      values: { url: `${url}${path}`, signed: signature !== null, pid: process.pid },
    })
    await untilStopped(context)
  } finally {
    // A delivery that is still being read is not acknowledged, so the sender repeats it.
    await closeServer(receiver)
    refusals.flush()
  }
  const { kept, refused, failed } = counts
  output.note(
    `kept ${countText(kept, 'delivery', 'deliveries')}, refused ${countText(refused, 'request')}, failed to write ${failed}`,
  )
  return EXIT.done
}

/** Takes deliveries into the journal and backs it up once an hour, where a backup is kept: until then they are on one disk. */
async function untilStopped(context: Context): Promise<void> {
  const { clock, stop, directory, logger } = context
  while (!stop.aborted) {
    await clock.sleep(INTAKE_EVERY_MS, stop).catch(() => undefined)
    if (stop.aborted || filesOfInbox(directory.inbox).length === 0) continue
    try {
      const journal = openJournal(directory.journal, clock)
      if (knownBackups(directory.root, journal).length === 0) continue
      await withJournal(context, { command: 'listen' }, 'refuse', () =>
        backUpWhereKnown(journal, context),
      )
    } catch (error) {
      // A process that holds the lock loads the deliveries.
      if (!(error instanceof JobtideError)) throw error
      logger.warn({ reason: error.message }, 'intake.postponed')
    }
  }
}

const INTAKE_EVERY_MS = HOUR

function signatureOf(
  { environment, scrubber }: Context,
  { signatureHeader: header, signatureEncoding: encoding }: OptionsOf<'listen'>,
): Signature | null {
  if (!HEADER_NAME.test(header)) {
    throw new ConfigError(`--signature-header ${header}: expected the name of a header`)
  }
  const secret = webhookSecretFrom(environment)
  if (secret === null) return null
  scrubber.add(secret.reveal())
  return { secret, header, encoding }
}
