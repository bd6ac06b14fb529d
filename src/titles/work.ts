/** What somebody does, as a title tells it: field of work, core role, and whether it is only a role beside a main job. */

import { coreOf, isSideRole, readJob, type Job } from './core.ts'
import { toEnglish } from './english.ts'
import type { FunctionWord } from './function-words.ts'
import { readFunction } from './functions.ts'
import type { JobFunction } from './taxonomy.ts'

/** What somebody does. */
export interface Work {
  /** The field of work; null where the title names none. */
  readonly function: JobFunction | null
  /** What names the field, and how strongly. */
  readonly mention: FunctionWord | null
  /** The role without level, team and place, in English where known; null where the title names none. */
  readonly core: string | null
  readonly isSideRole: boolean
  /** Which job it is, for comparing two titles. */
  readonly job: Job
  /** All words, in English where known. */
  readonly english: readonly (readonly string[])[]
}

/** @param parts the words of a title, as `splitTitle` gives them */
export function readWork(parts: readonly (readonly string[])[]): Work {
  const title = toEnglish(parts)
  const job = readJob(title)
  const mention = readFunction(title)
  return {
    function: mention?.function ?? null,
    mention,
    core: coreOf(job),
    isSideRole: isSideRole(title),
    job,
    english: title.parts,
  }
}
