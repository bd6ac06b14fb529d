import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { done, openSite, pipelineText, type Site } from '../helpers/run-cli.ts'

interface Hit {
  readonly pipeline: string
  readonly watch_list: string
  readonly matched_by: string
  readonly confidence: number
  readonly profile_id: string
  readonly change: string
}

interface Person {
  readonly profile_id: string
  readonly name: string
  readonly url: string
}

const hitsOf = (site: Site) =>
  site.query<Hit>(
    `select pipeline, watch_list, matched_by, confidence, profile_id, change from watch_hits
     order by pipeline, watch_list, profile_id, event_key, change`,
  )

const write = (site: Site, name: string, text: string) =>
  writeFileSync(join(site.folder, name), text)

/** A site after one run, and two of its people with unique pages and names. */
async function siteWithPeople() {
  const site = await openSite({ companies: 3, events: 400 })
  done(await site.call(['run', site.pipeline]))
  const [ada, bob] = await site.query<Person>(
    `select profile_id, person_full_name as name, person_network_url as url from people
     where person_network_url is not null
       and plain_name(person_full_name) in (
         select plain_name(person_full_name) from job_change_events group by 1 having count(distinct profile_id) = 1)
     order by profile_id limit 2`,
  )
  if (ada === undefined || bob === undefined) throw new Error('no such people')
  return { site, ada, bob }
}

describe('watch', () => {
  it('finds hits by page and name, keeps the lists of other pipelines, and survives a build and a replay', async () => {
    const { site, ada, bob } = await siteWithPeople()
    expect(await hitsOf(site)).toEqual([])
    const spelt = `${ada.url.replace('https://', 'http://www.').toUpperCase()}/?from=mail`
    write(site, 'people.csv', `name,url\n${bob.name.toUpperCase()},\nSomebody Unknown,${spelt}\n`)
    const watch = 'watch: [{ name: friends, people: people.csv }]'
    write(site, 'test.yaml', pipelineText([watch]))
    done(await site.call(['run', site.pipeline]))
    const hits = await hitsOf(site)
    const people = new Map(hits.map(({ profile_id: id, matched_by: by }) => [id, by]))
    expect(people).toEqual(
      new Map([
        [ada.profile_id, 'url'],
        [bob.profile_id, 'name'],
      ]),
    )
    const told = await site.query(
      `select profile_id from career_changes where profile_id in ('${ada.profile_id}', '${bob.profile_id}')`,
    )
    expect(hits.length).toBe(told.length)
    const known = await site.query<{ hits: number }>(
      'select count(*)::int as hits from watch_hits_as_known_on(current_date + 1)',
    )
    expect(known).toEqual([{ hits: hits.length }])

    const other = pipelineText([
      'watch: [{ name: leavers, organizations: organizations.csv, changes: [left] }]',
    ])
    write(site, 'other.yaml', other.replace('name: test', 'name: other'))
    done(await site.call(['run', join(site.folder, 'other.yaml')]))
    const both = await hitsOf(site)
    expect(both.filter(({ pipeline }) => pipeline === 'test')).toEqual(hits)
    const leavers = both.filter(({ watch_list: list }) => list === 'leavers')
    expect(leavers.length).toBeGreaterThan(5)
    expect(new Set(leavers.map(({ change }) => change))).toEqual(new Set(['left']))

    done(await site.call(['build']))
    expect(await hitsOf(site)).toEqual(both)
    done(await site.call(['replay']))
    expect(await hitsOf(site)).toEqual(both)

    write(site, 'test.yaml', pipelineText())
    done(await site.call(['run', site.pipeline]))
    expect(await hitsOf(site)).toEqual(leavers)
  }, 120_000)

  it('exits with 2 and sends nothing if a list is wrong', async () => {
    const site = await openSite()
    write(site, 'test.yaml', pipelineText(['watch: [{ name: a, people: people.csv }]']))
    const missing = await site.call(['run', site.pipeline])
    expect(missing.exitCode).toBe(2)
    expect(missing.stderr).toContain('people.csv')
    write(site, 'people.csv', 'name,url\nAda,not a page\n')
    const wrong = await site.call(['run', site.pipeline])
    expect(wrong.exitCode).toBe(2)
    expect(wrong.stderr).toContain('people.csv:2: url: not a page: "not a page"')
    expect(existsSync(join(site.dataDir, 'journal'))).toBe(false)
  })
})

describe('forget', () => {
  it('removes a person’s entries from the watch-lists, however they name the person', async () => {
    const { site, ada, bob } = await siteWithPeople()
    write(site, 'people.csv', `name,url\n${ada.name},\n,${ada.url}\n${bob.name},\n`)
    write(site, 'ids.csv', `profile_id\n${ada.profile_id}\n`)
    const watch = 'watch: [{ name: a, people: people.csv }, { name: b, people: ids.csv }]'
    write(site, 'test.yaml', pipelineText([watch]))
    done(await site.call(['run', site.pipeline]))
    const entries = () =>
      site.query<{ listed_as: string }>('select listed_as from ops.watch_entries order by 1')
    expect(await entries()).toHaveLength(4)

    done(await site.call(['forget', ada.profile_id, '--yes']))
    expect(await entries()).toEqual([{ listed_as: bob.name }])
    // The user's own files still name her: her id is known to be erased, and anything else matches no one.
    done(await site.call(['run', site.pipeline]))
    const ids = (await entries()).map(({ listed_as: text }) => text)
    expect(ids).not.toContain(ada.profile_id)
    expect(new Set((await hitsOf(site)).map(({ profile_id: id }) => id))).toEqual(
      new Set([bob.profile_id]),
    )
  }, 120_000)
})
