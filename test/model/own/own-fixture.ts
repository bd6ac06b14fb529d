/** A small project: two shipped models over events of three people, and a folder for the user's own models and checks. */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildModels, type BuildOptions, type BuildReport } from '../../../src/model/build.ts'
import type { Warehouse } from '../../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { insertEvents, memoryWarehouse, type GivenEvent } from '../../helpers/warehouse.ts'

export const joined = (person: string, organization: string, changedAt: string): GivenEvent => ({
  profile_id: person,
  organization_id: organization,
  event_type: 'joined',
  changed_at: changedAt,
  title_current: 'Engineer',
})

const ARRIVALS = `-- grain: One row per joining.
-- key: event_key
-- purpose: Tests.
-- incremental_by: profile_id
-- columns:
--   event_key: x.
--   profile_id: x.
--   organization_id: x.
--   changed_at: x.
select event_key, profile_id, organization_id, changed_at
from job_change_events where event_type = 'joined'
`
const SIZES = `-- grain: One row per organisation.
-- key: organization_id
-- purpose: Tests.
-- columns:
--   organization_id: x.
--   people: x.
select organization_id, cast(count(distinct profile_id) as integer) as people
from arrivals group by organization_id
`

export type OwnSite = Awaited<ReturnType<typeof ownSite>>

/** A warehouse with ada and ben at acme and cai at globex; nothing is built yet. */
export async function ownSite() {
  const root = temporaryFolder()
  const at = (path: string) => join(root, path)
  for (const folder of ['shipped/marts', 'shipped-checks', 'models', 'checks']) {
    mkdirSync(at(folder), { recursive: true })
  }
  writeFileSync(at('shipped/marts/arrivals.sql'), ARRIVALS)
  writeFileSync(at('shipped/marts/sizes.sql'), SIZES)
  const warehouse: Warehouse = await memoryWarehouse({ threads: 1 })
  await insertEvents(warehouse, [
    joined('ada', 'acme', '2024-01-01'),
    joined('ben', 'acme', '2024-02-01'),
    joined('cai', 'globex', '2024-03-01'),
  ])
  const build = (options: Partial<BuildOptions> = {}): Promise<BuildReport> =>
    buildModels(warehouse, {
      buildId: 'night',
      builtAt: new Date('2024-12-01T03:00:00Z'),
      modelFolder: at('shipped'),
      checkFolder: at('shipped-checks'),
      mostChanged: 1,
      ownFolder: root,
      ...options,
    })
  return {
    root,
    warehouse,
    build,
    write: (file: string, text: string) => writeFileSync(at(file), text),
    remove: (file: string) => rmSync(at(file)),
    /** How many rows a build wrote and deleted, by model; null where it wrote the whole table. */
    changesOf: ({ models }: BuildReport, ...names: readonly string[]) =>
      names.map((name) => models.find((model) => model.name === name)?.rowsChanged),
    rows: (sql: string) => warehouse.all(sql),
  }
}
