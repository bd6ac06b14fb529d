/** Objects of a snapshot as local files, proved to be what the manifest says before anything reads them. */

import { statSync } from 'node:fs'
import { EXIT, JobtideError, type ErrorDetails } from '../support/errors.ts'
import type { FileCache } from './file-cache.ts'
import { sha256OfFile } from './parquet.ts'

/** A published snapshot is not what it was. Nothing was made of it. */
export class DamagedSnapshotError extends JobtideError {
  override readonly name = 'DamagedSnapshotError'
  constructor(what: string, details: Omit<ErrorDetails, 'hint'> = {}) {
    super(EXIT.checkFailed, `the snapshot is damaged: ${what}`, {
      hint: '`jobtide verify` names everything that is wrong with it; take another one (`jobtide snapshots`).',
      ...details,
    })
  }
}

/** An object as a manifest names it. */
export interface NamedObject {
  readonly key: string
  readonly bytes: number
  readonly sha256: string
}

/** The object as a local file, or what is wrong with it. */
export type Fetched =
  | { readonly kind: 'whole'; readonly path: string }
  | { readonly kind: 'missing' | 'size' | 'sha256'; readonly message: string }

/** Brings an object here and proves size and SHA-256. @throws PublishError when the store refuses */
export async function fetchObject(files: FileCache, object: NamedObject): Promise<Fetched> {
  const path = await files.pathOf(object.key)
  if (path === null) {
    const isLinked = files.isBehindLink(object.key)
    const message = isLinked
      ? 'it lies behind a symbolic link, which is not followed'
      : 'it is not there'
    return { kind: 'missing', message }
  }
  const { size } = statSync(path)
  if (size !== object.bytes) {
    const what = size < object.bytes ? 'cut short' : 'changed'
    const message = `it has ${size} bytes where ${object.bytes} belong: it was ${what}`
    return { kind: 'size', message }
  }
  const sha256 = await sha256OfFile(path)
  if (sha256 === object.sha256) return { kind: 'whole', path }
  return { kind: 'sha256', message: `its bytes are others: their SHA-256 is ${sha256}` }
}

/** As {@link fetchObject}, for those who need it whole. @throws DamagedSnapshotError when it is not */
export async function fetchWhole(files: FileCache, object: NamedObject): Promise<string> {
  const fetched = await fetchObject(files, object)
  if (fetched.kind === 'whole') return fetched.path
  throw new DamagedSnapshotError(`${object.key}: ${fetched.message}`)
}
