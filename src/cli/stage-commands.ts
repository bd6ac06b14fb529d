/** The commands for one stage: load, build, publish, and replay. None of them sends a request. */

import { existsSync } from 'node:fs'
import { journalBackupFrom } from '../config.ts'
import { openJournal, type Journal, type JournalWriter } from '../journal/journal.ts'
import { parseKeep } from '../publish/retention.ts'
import { makeAnalystCopy } from '../run/analyst-copy.ts'
import { backUpWhereKnown, checkBackup } from '../run/backup/back-up.ts'
import { knownBackups, absolutePlace, type BackupTarget } from '../run/backup/backup-target.ts'
import { restoreJournal } from '../run/backup/restore-journal.ts'
import { loadDatabases, problemIn } from '../run/databases.ts'
import { readDatabaseTargets } from '../run/job.ts'
import { DEFAULT_MAX_WAIT_MS, acquireLock } from '../run/lock.ts'
import { refuseLostJournal } from '../run/lost-journal.ts'
import { declaredBackups } from '../run/pipelines.ts'
import { rebuildWarehouse } from '../run/rebuild.ts'
import { withJournal, type WarehouseBefore } from '../run/session.ts'
import { buildStage, loadStage, publishStage, readTarget } from '../run/stages.ts'
import { ConfigError, LockedError } from '../support/errors.ts'
import { bytesText, countText, counted } from '../support/numbers.ts'
import { lookBefore, withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'
import { destinationOf, refuseAbsent } from './proof-commands.ts'
import { facts, type Fact, type Report } from './report.ts'
import {
  analystCopyFact,
  buildValues,
  buildText,
  databaseFact,
  loadValues,
  loadText,
  publishText,
  staleCopy,
} from './run-result.ts'

const RUN_FIRST = 'Run a pipeline first, or name another folder with --data-dir.'

export async function loadCommand(context: Context): Promise<Report> {
  return runAlone(context, 'load', async ({ warehouse, journal }) => {
    const load = await loadStage(warehouse, journal, context)
    return { sections: [[['loaded', loadText(load)]]], values: loadValues(load) }
  })
}

export async function buildCommand(
  context: Context,
  { select }: OptionsOf<'build'>,
): Promise<Report> {
  return runAlone(context, 'build', async ({ warehouse }) => {
    const build = await buildStage(warehouse, context, { select })
    return { sections: [[['built', buildText(build)]]], values: buildValues(build) }
  })
}

export async function publishCommand(
  context: Context,
  options: OptionsOf<'publish'>,
): Promise<Report> {
  const { pipeline, snapshotTo, keep, engine } = options
  const target = destinationOf(context, pipeline, { snapshotTo, engine })
  const kept = keep === undefined ? target : { ...target, keep: parseKeep(keep) }
  const targets = readDatabaseTargets(pipeline, { engine })
  const work = async ({ warehouse, journal, writer }: StageParts): Promise<Report> => {
    const publish = await publishStage(warehouse, kept, { runId: null, writer }, context, options)
    const databases = await loadDatabases(warehouse, targets, context)
    await loadStage(warehouse, journal, { ...context, onProgress: () => undefined })
    warehouse.close()
    const analystCopy = await makeAnalystCopy(context)
    const published: Fact = ['published', publishText(publish)]
    return {
      sections: [[published, ...databases.map(databaseFact), analystCopyFact(analystCopy)]],
      values: { ...publish, databases, analystCopy },
      problem: problemIn(databases) ?? staleCopy(analystCopy),
    }
  }
  return runAlone(context, 'publish', work, async (bringUp, journal) => {
    // Readers would see people who were erased since.
    const { root, warehouse } = context.directory
    for (const one of knownBackups(root, journal)) await checkBackup(one, journal, context)
    await readTarget(kept, context)
    await bringUp()
    // A warehouse of an earlier version lacks tables of a snapshot.
    const newFiles = await lookBefore(warehouse, (_, count) => Promise.resolve(count))
    if (newFiles === undefined || newFiles === 0) return
    throw new ConfigError(`${warehouse} was built by an earlier version`, {
      hint: 'Run `jobtide build`, then publish. Nothing was changed.',
    })
  })
}

export async function replayCommand(
  context: Context,
  { acceptLoss = false, dropOwn = false }: OptionsOf<'replay'>,
): Promise<Report> {
  const { directory } = context
  const losses = acceptLoss ? 'accept' : 'refuse'
  const request = { command: 'replay', maxWaitMs: DEFAULT_MAX_WAIT_MS }
  return withJournal(context, request, losses, async (journal) => {
    journal.check('bytes')
    await refuseLostJournal(journal, directory)
    if (journal.segments().length === 0) {
      throw new ConfigError(`there is no journal in ${directory.journal}`, { hint: RUN_FIRST })
    }
    await refuseReader(directory.warehouse)
    const own = dropOwn ? 'drop' : 'refuse'
    const rebuilt = await rebuildWarehouse(journal, context, own)
    const values = { ...rebuiltValues(rebuilt), kept: [], credits: 0 }
    const replayed = { replayed: loadText(rebuilt.load), built: buildText(rebuilt.build) }
    return { sections: [facts({ ...replayed, spent: '0 credits' })], values }
  })
}

function rebuiltValues({ load, build }: Awaited<ReturnType<typeof rebuildWarehouse>>) {
  return { load: loadValues(load), build: buildValues(build) }
}

interface StageParts {
  readonly warehouse: Warehouse
  readonly journal: Journal
  readonly writer: JournalWriter
}

/** @param ready checks what else `work` needs, and then upgrades the warehouse to this version */
async function runAlone(
  context: Context,
  command: string,
  work: (parts: StageParts) => Promise<Report>,
  ready: (bringUp: WarehouseBefore['bringUp'], journal: Journal) => Promise<void> = (bringUp) =>
    bringUp(),
): Promise<Report> {
  const { directory } = context
  const request = { command, maxWaitMs: DEFAULT_MAX_WAIT_MS }
  return withJournal(context, request, 'refuse', async (journal, _, { loaded, bringUp }) => {
    if (journal.segments().length === 0 && !existsSync(directory.warehouse)) {
      throw new ConfigError(`nothing has run yet in ${directory.root}`, { hint: RUN_FIRST })
    }
    // A load would remove coverage and runs from the warehouse.
    if (command !== 'build') await refuseLostJournal(journal, directory, loaded)
    await ready(bringUp, journal)
    const writer = journal.writer()
    const opened = { path: directory.warehouse, mode: 'write' } as const
    try {
      return await withWarehouse(opened, (warehouse) => work({ warehouse, journal, writer }))
    } finally {
      await writer.close()
      // Deliveries of the inbox are in the journal now.
      await backUpWhereKnown(journal, context)
    }
  })
}

// A reader keeps its file after a rename and would go on with yesterday's tables without knowing.
async function refuseReader(path: string): Promise<void> {
  if (!existsSync(path)) return
  await withWarehouse({ path, mode: 'write' }, () => Promise.resolve()).catch((error: unknown) => {
    // Any other problem with the file is the reason to rebuild it.
    if (error instanceof LockedError) throw error
  })
}

export async function restoreJournalCommand(
  context: Context,
  place: string | undefined,
): Promise<Report> {
  const { directory, clock, stop } = context
  const target = targetOf(context, place)
  refuseAbsent(target.place)
  const request = { command: 'restore-journal', clock, stop, maxWaitMs: DEFAULT_MAX_WAIT_MS }
  const lock = await acquireLock(directory.root, request)
  try {
    // Keeps a warehouse of a newer version, and the user's own tables.
    await lookBefore(directory.warehouse, () => Promise.resolve())
    const restored = await restoreJournal(target, context)
    const rebuilt = await rebuildWarehouse(openJournal(directory.journal, clock), context)
    const { place, madeAt, segments, bytes, credits, creditsPublished, lost } = restored
    const counts = `${countText(segments, 'segment')}, ${bytesText(bytes)}, ${countText(credits, 'credit')}`
    const later = Math.max(0, (creditsPublished ?? credits) - credits)
    return {
      title: `restored: ${directory.journal}`,
      sections: [
        facts({
          backup: `${place}, of ${madeAt}`,
          journal: `${counts}: every byte is as it was sealed`,
          lost: counted(
            lost,
            'segment',
            `sealed after the backup ${lost === 1 ? 'is' : 'are'} lost`,
          ),
          loaded: loadText(rebuilt.load),
          built: buildText(rebuilt.build),
          spent: '0 credits',
        }),
      ],
      notes: [
        later === 0
          ? 'The next run requests everything since then.'
          : `The newest snapshot knows of ${countText(later, 'credit')} more: what they bought after the backup is bought again.`,
      ],
      values: { ...restored, ...rebuiltValues(rebuilt) },
    }
  } finally {
    await lock.release()
  }
}

/** The named place, else that of the environment, else the one that all pipelines share. */
function targetOf({ environment, directory }: Context, place: string | undefined): BackupTarget {
  const said = place ?? journalBackupFrom(environment)
  const declared = declaredBackups(directory.root)
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
