/** Manifests of snapshots that were never published; a test sets what matters to it. */

import {
  FORMAT_VERSION,
  type Manifest,
  type ManifestFile,
  type ManifestTable,
} from '../../src/publish/manifest.ts'
import { sum } from '../../src/support/numbers.ts'

/** A data file of 1 row. */
export function aFile(parts: Partial<ManifestFile> = {}): ManifestFile {
  const sha256 = 'a'.repeat(64)
  return {
    key: `tables/t/all/${sha256}.parquet`,
    partition: 'all',
    rows: 1,
    bytes: 1,
    sha256,
    min: {},
    max: {},
    nulls: {},
    ...parts,
  }
}

/** A table of these files, with a column `id`. */
export function aTable(parts: Partial<ManifestTable> = {}): ManifestTable {
  const { files = [] } = parts
  const rows = sum(files.map((file) => file.rows))
  return {
    name: 't',
    grain: 'One row.',
    key: ['id'],
    partition_by: null,
    schema: [{ name: 'id', type: 'VARCHAR', field_id: 1, comment: null }],
    last_field_id: 1,
    rows,
    bytes: sum(files.map(({ bytes }) => bytes)),
    partitions: [{ name: 'all', rows, fingerprint: null }],
    files,
    ...parts,
  }
}

/** The first snapshot of a destination. */
export function aManifest(parts: Partial<Manifest> = {}): Manifest {
  return {
    format_version: FORMAT_VERSION,
    snapshot_id: '01JD0000000000000000000001',
    sequence: 1,
    previous: null,
    created_at: '2026-11-20T02:15:00Z',
    destination: '/srv/lake',
    run_id: null,
    journal_id: '01M82GZFCDS2H9RXZ13JAAZES0',
    not_kept: { people: 0, events_before: null, list: null },
    versions: { jobtide: '0.0.0', duckdb: 'v1' },
    tables: [],
    new_bytes: 0,
    coverage: {
      organizations: 0,
      intervals: 0,
      covered_from: { min: null, max: null },
      covered_to: { min: null, max: null },
      sha256: '0'.repeat(64),
    },
    checks: null,
    credits: { total: 0, of_run: 0 },
    ...parts,
  }
}
