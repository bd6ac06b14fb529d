/** Writes a report as one page, readable by its owner alone. */

import { OWNER_ONLY, writeFileAtomic } from '../support/atomic-file.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { refuseForeignPage } from './document.ts'
import { reportPage, TITLE } from './page.ts'
import { MOST, readReport, type ListedOrganization, type ReportData } from './read-report.ts'
import type { ReportWindow } from './window.ts'

const MOST_BYTES = 1_900_000

export interface ReportRequest {
  readonly window: ReportWindow
  /** The organisations it is about; null for all. */
  readonly list: readonly ListedOrganization[] | null
  readonly path: string
  /** Milliseconds since 1970. */
  readonly writtenAt: number
}

/**
 * Writes the page, readable by its owner alone, in place of one that was there. With very many changes, or very long
 * names, it shows fewer lines to stay below 2 MB.
 * @throws ConfigError when something else than a report was there
 * @throws StorageError when the disk refuses
 */
export async function writeReport(
  warehouse: Warehouse,
  { window, list, path, writtenAt }: ReportRequest,
): Promise<{ readonly data: ReportData; readonly bytes: number }> {
  refuseForeignPage(path, 'report of Jobtide', TITLE)
  const data = await readReport(warehouse, window, list)
  for (let rows = MOST.changes; ; rows = Math.floor(rows / 2)) {
    const page = Buffer.from(reportPage(withFirst(data, rows), writtenAt))
    if (page.length > MOST_BYTES && rows > 1) continue
    writeFileAtomic(path, page, OWNER_ONLY)
    return { data, bytes: page.length }
  }
}

/** The first `rows` changes of each kind. */
function withFirst(data: ReportData, rows: number): ReportData {
  const kinds = data.counts.map(({ change }) => change)
  const changes = kinds.flatMap((kind) =>
    data.changes.filter(({ change }) => change === kind).slice(0, rows),
  )
  return { ...data, changes }
}
