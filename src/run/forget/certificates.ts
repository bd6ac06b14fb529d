/** Reads what the certificates of a data directory say about erasures that were not complete. */

import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { readJson } from '../../support/atomic-file.ts'
import { CERTIFICATES } from '../data-directory.ts'
import { PENDING_FILE } from './pending.ts'

const certificateSchema = z.object({
  made_at: z.iso.datetime(),
  is_complete: z.boolean(),
  stores: z.array(z.object({ destination: z.string(), is_gone: z.boolean().optional() })),
})

/** Newest last. A damaged one says nothing. */
function certificatesIn(root: string) {
  const folder = join(root, CERTIFICATES)
  const names = existsSync(folder) ? readdirSync(folder) : []
  return names
    .filter((name) => /^forget-.*\.json$/.test(name))
    .toSorted()
    .flatMap((name) => certificateSchema.safeParse(readJson(join(folder, name))).data ?? [])
}

/** Whether the newest certificate about a destination says that it is gone for good. */
export function wasGone(root: string, destination: string): boolean {
  const found = certificatesIn(root).flatMap(({ stores }) =>
    stores.filter((store) => store.destination === destination),
  )
  return found.at(-1)?.is_gone === true
}

/** When the erasure that is not complete yet began, milliseconds since 1970 UTC; null where none is. */
export function unfinishedSince(root: string): number | null {
  const pending = join(root, PENDING_FILE)
  if (!existsSync(pending)) return null
  const all = certificatesIn(root)
  const first = all[all.findLastIndex((one) => one.is_complete) + 1]
  return first === undefined ? Math.round(statSync(pending).mtimeMs) : Date.parse(first.made_at)
}
