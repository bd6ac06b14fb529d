/** `forget` of a person whom only a search found: no event changes, so that only the answers tell the build what to make again. */

import { expect, it } from 'vitest'
import { openCollection } from './collect-fixture.ts'

it('forgets one of the people that a search found, everywhere and for every search after it', async () => {
  const site = await openCollection({ companies: 10 })
  const find = (...more: string[]) =>
    site.json<{ found: { url: string; name: string }[] }>(
      'find',
      'people',
      'job_title=Manager',
      ...more,
    )
  const { found: before } = await find()
  expect(before.length).toBeGreaterThan(2)
  const [gone] = before
  const erased = await site.json<{ is_complete: boolean }>('forget', gone?.url ?? '', '--yes')
  expect(erased.is_complete).toBe(true)
  const rest = before.filter(({ url }) => url !== gone?.url)
  expect((await find()).found).toEqual(rest)
  // The search is bought again, and the service still names them.
  expect((await find('--refresh-days', '0')).found).toEqual(rest)
  const again = await site.json<{ proof: { matches: string[] } }>(
    'forget',
    gone?.url ?? '',
    '--yes',
  )
  expect(again.proof.matches).toEqual([])
})
