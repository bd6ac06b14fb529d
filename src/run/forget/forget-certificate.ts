/** What was forgotten, where, and what is left of it: it names nobody, and neither does anything in it. */

import type { ErasedSegment } from '../../journal/erase.ts'
import type { StoreForgetReport } from '../../publish/forget/forget.ts'
import type { Proof } from './forget-proof.ts'

/** A certificate: `certificates/forget-<ULID>.json` in the data directory holds all of it but `path`. */
export interface Certificate {
  readonly path: string
  readonly format_version: 1
  /** ULID. */
  readonly id: string
  /** ISO 8601, UTC. */
  readonly made_at: string
  /** Version of Jobtide. */
  readonly jobtide: string
  /** True when nothing is left anywhere. */
  readonly is_complete: boolean
  /** What is left, a sentence each. */
  readonly remaining: readonly string[]
  /** The keyed hash of each person, as on the suppression list. */
  readonly people: readonly string[]
  /** Events that changed and were detected before this; null where people were forgotten only. */
  readonly events_before: string | null
  /** Segments of the journal that were written anew. */
  readonly segments: readonly ErasedSegment[]
  /** Rows deleted, by table. */
  readonly rows: Readonly<Record<string, number>>
  /** Of the file that was written anew; null where there was none. */
  readonly warehouse_sha256_before: string | null
  readonly warehouse_sha256_after: string | null
  readonly stores: readonly StoreCertificate[]
  /** How many texts were searched for in how many files and bytes, and where one was found. */
  readonly proof: Proof & { readonly texts: number }
}

/** What was done in one destination of snapshots. */
export interface StoreCertificate {
  readonly destination: string
  /** Why it is not done there; null where it is. */
  readonly problem: string | null
  /** Null where it is not done, and where there is no such folder. */
  readonly report: StoreForgetReport | null
}

/** A certificate as JSON: the words of data, `sha256_before` and not `sha256Before`. */
export function certificateDocument({ path: _path, ...content }: Certificate): unknown {
  return inWordsOfData(content)
}

/** A value with the names of data, `sha256_before`, in place of those of code, `sha256Before`. */
export function inWordsOfData(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inWordsOfData)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      inWordsOfData(inner),
    ]),
  )
}
