/** The organisation list that Jobtide reads, written from what a simulator serves. */

import { refuseForeignFile, writeFileAtomic } from '../support/atomic-file.ts'
import { csvLine } from '../support/text.ts'
import type { TrackedOrganization } from './events.ts'

/** Writes a CSV file with the header `organization_id,name`, one organisation a line. */
export function writeOrganizationsFile(
  path: string,
  organizations: readonly Pick<TrackedOrganization, 'organization_id' | 'name'>[],
  head = '',
): void {
  const lines = organizations.map(({ organization_id: id, name }) => csvLine([id, name]))
  writeFileAtomic(path, [head, 'organization_id,name\n', ...lines].join(''))
}

const MARK = '# organisations of the made-up world of jobtide simulate\n'

/**
 * As {@link writeOrganizationsFile}, in place of a list that this wrote, or that `isUnused` says may go.
 * @throws ConfigError when something else is there
 */
export function replaceOrganizationsFile(
  path: string,
  organizations: Parameters<typeof writeOrganizationsFile>[1],
  isUnused: (text: string) => boolean,
): void {
  refuseForeignFile(
    path,
    'list that simulate wrote',
    (text) => text.startsWith(MARK) || isUnused(text),
  )
  writeOrganizationsFile(path, organizations, MARK)
}
