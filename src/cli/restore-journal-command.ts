/** `restore-journal`: restores the journal from its backup and rebuilds the warehouse from it for 0 credits. */

import { journalBackupFrom } from '../config.ts'
import { openJournal } from '../journal/journal.ts'
import { absolutePlace, type BackupTarget } from '../run/backup/backup-target.ts'
import { restoreJournal, type RestoredJournal } from '../run/backup/restore-journal.ts'
import { DEFAULT_MAX_WAIT_MS, acquireLock } from '../run/lock.ts'
import { declaredBackups } from '../run/pipelines.ts'
import { rebuildWarehouse } from '../run/rebuild.ts'
import { ConfigError } from '../support/errors.ts'
import { countText } from '../support/numbers.ts'
import { lookBefore } from '../warehouse/warehouse.ts'
import { runWorld, type Context } from './context.ts'
import type { Report } from './report.ts'
import { buildText, buildValues, loadText, loadValues } from './run-result.ts'
import { bytesText } from './text.ts'

export async function restoreJournalCommand(
  context: Context,
  place: string | undefined,
): Promise<Report> {
  const { directory, clock, stop } = context
  const target = targetOf(context, place)
  const world = runWorld(context)
  const request = { command: 'restore-journal', clock, stop, maxWaitMs: DEFAULT_MAX_WAIT_MS }
  const lock = await acquireLock(directory.root, request)
  try {
    // Keeps a warehouse of a newer version, and the user's own tables.
    await lookBefore(directory.warehouse, () => Promise.resolve())
    const restored = await restoreJournal(target, world)
    const journal = openJournal(directory.journal, clock)
    const { load, build } = await rebuildWarehouse(journal, world)
    return {
      title: `restored: ${directory.journal}`,
      sections: [
        [
          ['backup', `${restored.place}, of ${restored.madeAt}`],
          [
            'journal',
            `${countText(restored.segments, 'segment')}, ${bytesText(restored.bytes)}, ${countText(restored.credits, 'credit')}: every byte is as it was sealed`,
          ],
          ['loaded', loadText(load)],
          ['built', buildText(build)],
          ['spent', '0 credits'],
        ],
      ],
      notes: lossNotes(restored),
      values: { ...restored, load: loadValues(load), build: buildValues(build) },
    }
  } finally {
    lock.release()
  }
}

function lossNotes({ lost, credits, creditsPublished }: RestoredJournal): string[] {
  const later = Math.max(0, (creditsPublished ?? credits) - credits)
  return [
    ...(lost === 0
      ? []
      : [
          `${countText(lost, 'segment')} sealed after the backup ${lost === 1 ? 'is' : 'are'} lost`,
        ]),
    later === 0
      ? 'The next run requests everything since then.'
      : `The newest snapshot knows of ${countText(later, 'credit')} more: what they bought after the backup is bought again.`,
  ]
}

/** The named place, else that of the environment, else the one that all pipelines share. */
function targetOf({ environment, directory }: Context, place: string | undefined): BackupTarget {
  const said = place ?? journalBackupFrom(environment)
  const declared = declaredBackups([], undefined, directory.root)
  if (typeof said === 'string') {
    const absolute = absolutePlace(said, place === undefined ? directory.root : '.')
    return declared.find((target) => target.place === absolute) ?? { place: absolute, s3: {} }
  }
  const [first, second] = declared
  if (first !== undefined && second === undefined) return first
  throw new ConfigError(
    first === undefined
      ? 'no pipeline in ./pipelines says where the journal is backed up'
      : `pipelines in ./pipelines back the journal up to ${declared.map((one) => one.place).join(' and ')}`,
    { hint: 'Name the place: jobtide restore-journal s3://bucket/prefix/journal' },
  )
}
