/**
 * Remembers, for each pipeline, the last run that ended before it began, such as one without a key: the journal knows of runs that
 * began alone.
 */

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { ranAt, runsOf, type Judgement } from '../plan/judge.ts'
import type { PlanHistory } from '../plan/plan.ts'
import { readJson, writeJson } from '../support/atomic-file.ts'
import { minuteText } from '../support/clock.ts'
import type { DataDirectory } from './data-directory.ts'
import { LOCK_FOLDER } from './lock.ts'

const schema = z.record(z.string(), z.object({ at: z.int(), exit_code: z.int() }))

const pathIn = ({ root }: Pick<DataDirectory, 'root'>) => join(root, LOCK_FOLDER, 'not-begun.json')

/** @param at milliseconds since 1970 UTC */
export function rememberNotBegun(
  directory: Pick<DataDirectory, 'root'>,
  pipeline: string,
  end: { readonly at: number; readonly exit_code: number },
): void {
  const path = pathIn(directory)
  if (!existsSync(dirname(path))) return
  writeJson(path, { ...schema.safeParse(readJson(path)).data, [pipeline]: end })
}

/** Those of these pipelines whose last run could not begin. */
export function judgeNotBegun(
  directory: Pick<DataDirectory, 'root'>,
  pipelines: readonly { readonly name: string }[],
  history: Pick<PlanHistory, 'runs'>,
): Judgement[] {
  const known = schema.safeParse(readJson(pathIn(directory))).data ?? {}
  return pipelines.flatMap(({ name }) => {
    const end = known[name]
    if (end === undefined || end.at <= ranAt(runsOf(history, name))) return []
    const { at: since, exit_code: code } = end
    const message = `the last run of ${name} ended at ${minuteText(since)} UTC with exit ${code} before it began`
    const hint = `\`jobtide doctor\` names the cause; then \`jobtide run ${name}\`.`
    return [{ id: 'last_run_failed', pipeline: name, message, hint, runId: null, since }]
  })
}
