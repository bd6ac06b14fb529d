/** The organisation list that Jobtide reads, written from what a simulator serves. */

import { refuseForeignFile, writeFileAtomic } from '../support/atomic-file.ts'
import { csvLine } from '../support/text.ts'
import type { TrackedOrganization } from './events.ts'

type Listed = readonly Pick<TrackedOrganization, 'organization_id' | 'name'>[]

/** Writes a CSV file with the header `organization_id,name`, one organisation a line. */
export function writeOrganizationsFile(path: string, organizations: Listed): void {
  writeFileAtomic(path, listText(organizations))
}

function listText(organizations: Listed): string {
  const lines = organizations.map(({ organization_id: id, name }) => csvLine([id, name]))
  return ['organization_id,name\n', ...lines].join('')
}

/**
 * Like {@link writeOrganizationsFile}, but replaces only the same list, or one that is unused according to `isUnused`.
 * @throws ConfigError if there is anything else
 */
export function replaceOrganizationsFile(
  path: string,
  organizations: Listed,
  isUnused: (text: string) => boolean,
): void {
  const list = listText(organizations)
  refuseForeignFile(path, 'list of this world', (text) => text === list || isUnused(text))
  writeFileAtomic(path, list)
}
