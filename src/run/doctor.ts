/** Checks an installation on this machine: Node, disk, memory, journal, lock, pipelines. */

import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  rmSync,
  statSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { IDENTITY_FILE, openJournal, type Journal } from '../journal/journal.ts'
import { listedIn } from '../journal/seals.ts'
import { postgresTables } from '../publish/postgres.ts'
import { readCurrent } from '../publish/manifest.ts'
import { isFolderAddress } from '../publish/store/open-store.ts'
import { nextDue } from '../plan/due.ts'
import { runsOf } from '../plan/judge.ts'
import { skippedText } from '../plan/skipped-lines.ts'
import { isoInstant } from '../support/clock.ts'
import { linkOnce } from '../support/atomic-file.ts'
import { JobtideError, asStorageError, systemCode } from '../support/errors.ts'
import { memoryOfProcess } from '../support/memory.ts'
import { bytesText, countText } from '../support/numbers.ts'
import { postgresAddress } from '../support/postgres-address.ts'
import { DAY, GIB, MIB } from '../support/units.ts'
import { INSIDE, backupStates, isBackupInside } from './backup/backup-target.ts'
import type { Freshness, KnownPipeline } from './pipelines.ts'
import type { Job } from './job.ts'
import { holderOf } from './lock.ts'
import { refuseLostJournal } from './lost-journal.ts'
import { pipelineFile, refuseOthersPipeline } from './pipeline-file.ts'
import { withJournal } from './session.ts'
import { openTarget, preflightStage, type RunWorld } from './stages.ts'

export type FindingState = 'ok' | 'warning' | 'problem'

export type Finding = ReturnType<typeof finding>

/**
 * The result of one check.
 * @param found in a few words
 * @param hint what to do about it, unless all is well; null if nothing
 */
export function finding(
  check: string,
  state: FindingState,
  found: string,
  hint: string | null = null,
) {
  return { check, state, found, hint }
}

/** Runs a check; an expected failure becomes a problem with its own hint. @throws any error other than a JobtideError */
export async function look(check: string, work: () => Promise<Finding> | Finding) {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof JobtideError)) throw error
    return finding(check, 'problem', error.message, error.hint ?? null)
  }
}

// Older ones work, from 20.19 on.
const SUPPORTED_NODE = 22

export function nodeFinding(version: string): Finding {
  const isOld = Number(version.split('.')[0]) < SUPPORTED_NODE
  return finding(
    'node',
    'ok',
    isOld ? `${version}; only Node 22 and newer still get fixes` : version,
  )
}

export function memoryFinding(bytes: number): Finding {
  const hint = 'Give it 1 GiB, or set JOBTIDE_MEMORY_LIMIT.'
  return finding('memory', gradeOf(bytes, 400 * MIB, GIB), bytesText(bytes), hint)
}

function gradeOf(value: number, least: number, enough: number): FindingState {
  if (value < least) return 'problem'
  return value < enough ? 'warning' : 'ok'
}

export async function machineFindings({ directory, clock }: RunWorld): Promise<Finding[]> {
  const { root } = directory
  return [
    nodeFinding(process.versions.node),
    memoryFinding(memoryOfProcess()),
    await look('data', () => dataFinding(root)),
    await look('lock', async () => {
      const holder = existsSync(root) ? await holderOf(root) : null
      return finding('lock', 'ok', holder === null ? 'free' : `held by ${holder.text}`)
    }),
    await look('journal', async () => {
      const journal = openJournal(directory.journal, clock)
      await refuseLostJournal(journal, directory)
      const isEmpty = journal.segments().length === 0
      return finding('journal', 'ok', isEmpty ? 'nothing has run yet' : 'every segment is there')
    }),
  ]
}

function dataFinding(root: string): Finding {
  const there = existingFolder(root)
  const why = whyNotWritable(there)
  if (why !== null) {
    return finding('data', 'problem', why, 'Make it writable, or name another with --data-dir.')
  }
  const { bavail, bsize } = statfsSync(there)
  const free = bavail * bsize
  const made = there === root ? '' : ', which is made by the first run'
  const hint = 'Free space, or name a folder on another disk with --data-dir.'
  const state = gradeOf(free, 200 * MIB, 2 * GIB)
  return finding('data', state, `${root}${made}; ${bytesText(free)} free`, hint)
}

/** The folder, or its nearest existing parent; a dangling link counts as existing. */
function existingFolder(path: string): string {
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return path
  } catch (error) {
    // It lies below a file.
    if (systemCode(error) !== 'ENOTDIR') throw error
  }
  return existingFolder(dirname(path))
}

/** @throws StorageError if a file cannot be written, or cannot have a second name */
function whyNotWritable(folder: string): string | null {
  const found = statSync(folder, { throwIfNoEntry: false })
  if (found === undefined) return `${folder} is a link to a missing folder: is its disk mounted?`
  if (!found.isDirectory()) return `${folder} is not a folder`
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch {
    return `${folder} cannot be written`
  }
  const file = join(folder, `.jobtide-doctor.${process.pid}`)
  const link = `${file}.link`
  try {
    writeFileSync(file, '')
    // Every lock needs a second name of a file.
    linkOnce(file, link)
  } catch (error) {
    // A mount whose source was removed is a folder that takes no files.
    if (systemCode(error) !== 'ENOENT') throw asStorageError(error, file)
    return `${folder} accepts no files: was the disk mounted there removed?`
  } finally {
    for (const path of [link, file]) rmSync(path, { force: true })
  }
  return null
}

/**
 * Makes the next run wait as well, by recording the time in the journal. Before the first run there is no journal; a
 * current run gets the time from the service.
 * @param notBefore milliseconds since 1970 UTC
 */
export async function keepPause(notBefore: number, reason: string, world: RunWorld) {
  const { clock, directory } = world
  if (openJournal(directory.journal, clock).segments().length === 0) return
  const uptime = clock.uptime?.() ?? null
  const pause = { run_id: null, at: clock.now(), not_before: notBefore, reason }
  const keep = (journal: Journal) =>
    journal.append({ kind: 'paused', ...pause, ...(uptime === null ? {} : { uptime }) })
  await withJournal(world, { command: 'doctor' }, 'refuse', keep).catch((error: unknown) => {
    if (!(error instanceof JobtideError)) throw error
  })
}

export async function pipelineFindings(freshness: Freshness, world: RunWorld): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const pipeline of freshness.pipelines) {
    const { name, problem, job } = pipeline
    if (problem !== null) {
      const hint = 'Fix the cause named here: until then the pipeline cannot run.'
      findings.push(finding(name, 'problem', problem, hint))
    } else if (job !== null) {
      findings.push(
        ...fileFindings(pipeline),
        listFinding(job),
        scheduleFinding(pipeline, freshness),
        await look(`${name} to`, () => destinationFinding(job, freshness, world)),
        ...(await databaseFindings(job, world)),
      )
    }
  }
  findings.push(backupFinding(freshness, world.directory))
  return findings
}

function backupFinding({ pipelines, nowMs }: Freshness, { root, journal }: RunWorld['directory']) {
  const backup = (state: FindingState, found: string, hint?: string) =>
    finding('backup', state, found, hint)
  const states = backupStates(root, listedIn(journal, 'skip').size)
  const next = pipelines.flatMap(({ job }) => job?.backups ?? []).map(({ place }) => place)
  const inside = [...states.map(({ place }) => place), ...next].find((place) =>
    isBackupInside(root, place),
  )
  if (inside !== undefined) return backup('problem', `${inside} ${INSIDE.problem}`, INSIDE.hint)
  const failed = states.find(({ problem }) => problem !== null)
  if (failed !== undefined) {
    const hint = 'The next run tries again. Nothing that was bought is lost.'
    return backup('warning', `${failed.place}: ${failed.problem}`, hint)
  }
  const old = states.find(({ backedUpAt }) => nowMs - (backedUpAt?.getTime() ?? 0) > 2 * DAY)
  if (old !== undefined) {
    const hint =
      'Run a pipeline that uses this place. If none does any more, remove it from journal.backup.json.'
    return backup('warning', `${old.place} is more than two days old`, hint)
  }
  if (states.length > 0) return backup('ok', states.map(({ place }) => place).join(', '))
  if (next.length > 0) return backup('ok', `${next.join(', ')}, by the first run`)
  const hint =
    'All bought pages are on this disk only. Name the full path of a folder on another disk, or an s3:// address: `journal: {backup: …}`.'
  return backup('warning', 'the journal has no backup', hint)
}

function fileFindings({ name, argument }: KnownPipeline): Finding[] {
  const file = pipelineFile(argument)
  if (file === undefined || !refuseOthersPipeline(file)) return []
  const found = `${file} may be written by a group, which could send what is published elsewhere`
  return [finding(name, 'warning', found, `chmod g-w ${file}`)]
}

function listFinding({ pipeline, question, collection, organizationsFile, skipped }: Job): Finding {
  const found =
    collection === null
      ? `${countText(question.organizations.length, 'organisation')} in ${organizationsFile}`
      : `${collection.endpoint}, by ${organizationsFile}`
  const state = skipped.length === 0 ? 'ok' : 'warning'
  const hint = 'Write an id or a URL into these lines, or remove them.'
  return finding(pipeline, state, [found, ...skipped.map(skippedText)].join('; '), hint)
}

function scheduleFinding({ name, schedule }: KnownPipeline, freshness: Freshness): Finding {
  const { history, judgements, nowMs } = freshness
  const check = `${name} runs`
  const { endedAt } = runsOf(history, name)
  const last = endedAt === null ? 'has not run' : `last ended ${isoInstant(endedAt)}`
  const due = schedule && nextDue(schedule, nowMs)
  const next = due === null ? 'no schedule' : `due ${isoInstant(due)} (${schedule?.cron})`
  const wrong = judgements.find((one) => one.pipeline === name && one.id !== 'never_run')
  return wrong === undefined
    ? finding(check, 'ok', `${last}; ${next}`)
    : finding(check, 'warning', `${wrong.message}; ${next}`, wrong.hint)
}

/** Connects to each database; writes nothing. One that is away is a warning, because a run buys and publishes without it. */
async function databaseFindings(
  { pipeline, databases }: Job,
  { environment = {}, stop }: RunWorld,
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { to, schema } of databases) {
    const one = await look(`${pipeline} to`, async () => {
      const address = postgresAddress(to, environment)
      await postgresTables(address, schema, stop)
      return finding(`${pipeline} to`, 'ok', `${address.shown} (schema ${schema}) answers`)
    })
    findings.push(one.state === 'problem' ? { ...one, state: 'warning' } : one)
  }
  return findings
}

async function destinationFinding(
  job: Job,
  { history }: Freshness,
  world: RunWorld,
): Promise<Finding> {
  const check = `${job.pipeline} to`
  if (job.snapshot === null) return finding(check, 'ok', 'publishes nothing')
  const { to } = job.snapshot
  if (isFolderAddress(to) && !existsSync(to)) {
    // Not made here: a run does that.
    const why = whyNotWritable(existingFolder(to))
    return why === null
      ? finding(check, 'ok', `${to}, which is made by the first publish`)
      : finding(check, 'problem', why, 'Make it writable, or name another destination.')
  }
  if (existsSync(join(world.directory.journal, IDENTITY_FILE))) {
    await preflightStage(job.snapshot, world, job.publishing, history)
  } else if ((await readCurrent(await openTarget(job.snapshot, world))) !== null) {
    const hint = 'Is this the right data directory? The first run here would exit with 7.'
    return finding(check, 'problem', `${to} shows the rows of another journal`, hint)
  }
  const how = isFolderAddress(to) ? 'can be written' : 'can be written, and honours conditions'
  return finding(check, 'ok', `${to} ${how}`)
}
