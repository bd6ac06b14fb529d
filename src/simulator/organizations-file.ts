/** The organisation list that Jobtide reads, written from what a simulator serves. */

import { refuseForeignFile, writeFileAtomic } from '../support/atomic-file.ts'
import { sha256Hex } from '../support/hash.ts'
import { csvLine } from '../support/text.ts'
import type { TrackedOrganization } from './events.ts'

type Listed = readonly Pick<TrackedOrganization, 'organization_id' | 'name'>[]

/** Writes a CSV file with the header `organization_id,name`, one organisation a line. */
export function writeOrganizationsFile(path: string, organizations: Listed, head = ''): void {
  writeFileAtomic(path, head + listText(organizations))
}

function listText(organizations: Listed): string {
  const lines = organizations.map(({ organization_id: id, name }) => csvLine([id, name]))
  return ['organization_id,name\n', ...lines].join('')
}

// With a hash of the content, because an edited list belongs to its user.
const MARK = '# organisations of the made-up world of jobtide simulate, '

/**
 * Like {@link writeOrganizationsFile}, but replaces only a list that it wrote, or that is unused according to
 * `isUnused`.
 * @throws ConfigError if there is anything else
 */
export function replaceOrganizationsFile(
  path: string,
  organizations: Listed,
  isUnused: (text: string) => boolean,
): void {
  const isOurs = (text: string) => {
    const end = text.indexOf('\n') + 1
    return end > 0 && text.slice(0, end) === headOf(text.slice(end))
  }
  refuseForeignFile(path, 'list as simulate wrote it', (text) => isOurs(text) || isUnused(text))
  writeOrganizationsFile(path, organizations, headOf(listText(organizations)))
}

function headOf(list: string): string {
  return `${MARK}${sha256Hex(list).slice(0, 16)}\n`
}
