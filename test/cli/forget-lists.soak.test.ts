/** `forget --from`: a list of people, with names that no one has. */

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { done } from '../helpers/run-cli.ts'
import { siteWithPeople, type Person } from './people-fixture.ts'

describe('jobtide forget --from', () => {
  it('reads the column profile_id of a CSV file, and names the people who are not here', async () => {
    const { site, people } = await siteWithPeople()
    const list = join(site.folder, 'people.csv')
    const [one, other] = people as [Person, Person]
    writeFileSync(
      list,
      `name,Profile_ID\r\n"Doe, J.","${one.profile_id}"\r\nx,per_of_nobody\r\ny,\r\n`,
    )
    const plan = done(await site.call(['forget', '--from', list]))
    expect(plan.stdout).toMatch(/^would be erased: 1 person\n/)
    expect(plan.stderr).toContain('people.csv: 1 line skipped, without an id or URL: 4')
    const erased = done(await site.call(['forget', '--from', list, '--yes']))
    expect(erased.stdout).toMatch(/^erased: 1 person\n/)
    expect(erased.stdout).toMatch(/NOT HERE: 1 person, .*\n *per_of_nobody\n/)
    const left = await site.query<Person>('select profile_id from people order by all')
    expect(left.map(({ profile_id: id }) => id)).not.toContain(one.profile_id)
    expect(left.map(({ profile_id: id }) => id)).toContain(other.profile_id)
    // A word in every file is not an id, so no snapshot is dropped for it.
    const word = done(await site.call(['forget', 'profile_id', '--yes']))
    expect(word.stdout).toMatch(/NOT HERE: 1 person/)
    expect(existsSync(join(site.dataDir, 'forget.pending.json'))).toBe(false)
  })
})
