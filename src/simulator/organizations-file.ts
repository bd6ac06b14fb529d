/** The organisation list that Jobtide reads, written from what a simulator serves. */

import { writeFileAtomic } from '../support/atomic-file.ts'
import { csvLine } from '../support/text.ts'
import type { TrackedOrganization } from './events.ts'

/** Writes a CSV file with the header `organization_id,name`, one organisation a line. */
export function writeOrganizationsFile(
  path: string,
  organizations: readonly Pick<TrackedOrganization, 'organization_id' | 'name'>[],
): void {
  const lines = organizations.map(({ organization_id: id, name }) => csvLine([id, name]))
  writeFileAtomic(path, ['organization_id,name\n', ...lines].join(''))
}
