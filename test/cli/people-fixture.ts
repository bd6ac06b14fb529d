/** A site for tests of `forget`. */

import { expect } from 'vitest'
import { done, openSite, type Site, type SiteOptions } from '../helpers/run-cli.ts'

export interface Person {
  profile_id: string
  person_full_name: string
}

/** A site after a run, and two of its people with unique names. */
export async function siteWithPeople(
  options: SiteOptions = {},
): Promise<{ site: Site; people: Person[] }> {
  const site = await openSite({ companies: 2, ...options })
  done(await site.call(['run', site.pipeline]))
  const people = await site.query<Person>(
    `select profile_id, person_full_name from people as one
     where (select count(*) from people as other where contains(other.person_full_name, one.person_full_name)) = 1
       and (select count(*) from people as other where contains(other.profile_id, one.profile_id)) = 1
     order by events desc, profile_id limit 2`,
  )
  expect(people).toHaveLength(2)
  return { site, people }
}
