/** The organisation list that Jobtide reads, written from what a simulator serves. */

import { writeFileAtomic } from '../support/atomic-file.ts'
import type { TrackedOrganization } from './events.ts'

/**
 * Writes a CSV file with the header `organization_id,name`, one organisation a line.
 * @throws StorageError when the disk refuses
 */
export function writeOrganizationsFile(
  path: string,
  organizations: readonly Pick<TrackedOrganization, 'organization_id' | 'name'>[],
): void {
  const lines = organizations.map(
    ({ organization_id: id, name }) => `${id},${quoted(name ?? '')}\n`,
  )
  writeFileAtomic(path, `organization_id,name\n${lines.join('')}`)
}

// RFC 4180: a field with a comma, quote or line break is quoted, and quotes in it are doubled.
function quoted(field: string): string {
  return /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field
}
