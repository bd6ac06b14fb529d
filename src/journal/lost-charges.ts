/**
 * What is left of the charges of a journal that is gone: its list of seals and the marks of its open segments say what each
 * run was charged, also for pages that nothing has loaded. The journal in its place keeps them as the loss of a segment.
 */

import { newUlid, ulidTime } from '../support/ulid.ts'
import type { HeldRun } from './held.ts'
import { readMarks } from './open-marks.ts'
import { SEGMENT_SUFFIX, listSegments } from './reader.ts'
import { addCounts, noCounts, type Counts } from './spending.ts'
import { appendSeal, listedIn } from './seals.ts'

/**
 * What the journal in `folder` held beyond what is known.
 * @param known by run and UTC day; see `chargeKey`
 */
export function chargesBeyond(folder: string, known: ReadonlyMap<string, Counts>): HeldRun[] {
  // Of lines that are damaged nothing is known; the others are worth the more.
  const listed = listedIn(folder, 'skip')
  const open = [...readMarks(folder).values()].filter(({ segment }) => !listed.has(segment))
  const runs = new Map<string, HeldRun>()
  for (const held of [...listed.values(), ...open].flatMap((sealed) => sealed.held)) {
    runs.set(held.run_id, together(runs.get(held.run_id), held))
  }
  return [...runs.values()].flatMap((run) => {
    const days = Object.entries(run.days).flatMap(([day, counts]) => {
      const rest = { ...counts }
      addCounts(rest, known.get(chargeKey(run.run_id, day)) ?? noCounts(), -1)
      return rest.charged + rest.inDoubt > 0 ? [[day, rest] as const] : []
    })
    return days.length === 0 ? [] : [{ ...run, days: Object.fromEntries(days) }]
  })
}

export function chargeKey(runId: string, day: string): string {
  return `${runId} ${day}`
}

function together(run: HeldRun | undefined, more: HeldRun): HeldRun {
  const days = structuredClone(run?.days ?? {}) as Record<string, Counts>
  for (const [day, counts] of Object.entries(more.days))
    addCounts((days[day] ??= noCounts()), counts)
  const started = run?.started ?? more.started
  const records = (run?.records ?? 0) + more.records
  // Which of its pages were not loaded is not known.
  return { run_id: more.run_id, records, ...(started && { started }), pages: {}, days }
}

/**
 * Writes into the list of the journal in `made`, which is to take the place of that in `folder`, what is lost with that. It
 * names the open segments, too: their marks say nothing more from when the list is in its place.
 */
export function noteLostCharges(made: string, folder: string, lost: readonly HeldRun[]): void {
  const gone = { bytes: 0, sha256: null }
  for (const segment of readMarks(folder).keys()) appendSeal(made, { segment, ...gone })
  if (lost.length === 0) return
  // After the segments that begin its runs.
  const newest = ulidTime(listSegments(made).at(-1) ?? '') || 0
  const segment = `${newUlid(newest + 1)}${SEGMENT_SUFFIX}`
  appendSeal(made, { segment, ...gone, held: lost, lost })
}
