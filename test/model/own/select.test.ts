import { beforeEach, afterEach, describe, expect, it } from 'vitest'
import { readChecks } from '../../../src/publish/publish.ts'
import { selectModels } from '../../../src/model/select.ts'
import { EXIT } from '../../../src/support/errors.ts'
import { insertEvents } from '../../helpers/warehouse.ts'
import { joined, ownSite, type OwnSite } from './own-fixture.ts'

const node = (name: string, reads: readonly string[], file = `marts/${name}.sql`) => {
  return { name, reads, file, schema: name === 'spells' ? 'detail' : 'main' } as const
}
const NODES = [
  node('stints', ['job_change_events']),
  node('joiners', ['stints']),
  node('spells', ['stints']),
  node('mine', ['joiners'], 'models/mine.sql'),
  node('yours', ['mine', 'spells'], 'models/yours.sql'),
]

describe('--select', () => {
  it.each([
    ['mine', 'mine'],
    ['MINE', 'mine'],
    ['+mine', 'joiners mine stints'],
    ['joiners+', 'joiners mine yours'],
    ['+joiners+', 'joiners mine stints yours'],
    ['mine spells', 'mine spells'],
    ['spells,mine+', 'mine spells yours'],
    ['path:models', 'mine yours'],
    ['path:models/mine.sql', 'mine'],
    ['+path:models/', 'joiners mine spells stints yours'],
    ['tier:detail+', 'spells yours'],
  ])('%s names %s', (words, names) => {
    expect([...selectModels(NODES, [words])].toSorted().join(' ')).toBe(names)
  })

  it.each([
    ['joinerz+', 'there is no model joinerz+', 'Did you mean joiners?'],
    ['mine,nothing_like_it', 'there is no model nothing_like_it', 'Write name, +name'],
    ['tag:daily', 'there is no model tag:daily', 'path:models'],
    ['tier:gold', 'there is no model tier:gold', 'tier:detail'],
    [' , ', '--select names no model', 'Name some'],
  ])('%j is refused: %s', (words, message, hint) => {
    expect(() => selectModels(NODES, [words])).toThrow(
      expect.objectContaining({
        exitCode: EXIT.usage,
        message,
        hint: expect.stringContaining(hint) as string,
      }) as Error,
    )
  })
})

describe('a build of some models', () => {
  let site: OwnSite

  beforeEach(async () => {
    site = await ownSite()
    site.write('models/staff.sql', 'select organization_id, people from sizes where people > 1')
    site.write('models/total.sql', 'select cast(sum(people) as bigint) as people from staff')
    site.write('checks/total_is_small.sql', 'select * from total where people > 2')
    await site.build()
  })

  afterEach(() => site.warehouse.close())

  it('builds 1 of 2 edited models, runs no check of the other, and is not published before a whole build', async () => {
    site.write('models/staff.sql', 'select organization_id, people from sizes')
    const some = await site.build({ select: ['staff'], buildId: 'some' })
    expect(some).toMatchObject({ selected: ['staff'], models: [{ name: 'staff', rowsChanged: 2 }] })
    expect(some.checks).not.toContain('total_is_small')
    expect(await site.rows('from total')).toEqual([{ people: 2n }])
    const publishing = () => readChecks(site.warehouse)
    await expect(publishing()).rejects.toMatchObject({
      exitCode: EXIT.usage,
      message: 'the last build made some models only (--select), and checked no others',
    })
    // The whole build includes what the selection left out.
    await expect(site.build()).rejects.toMatchObject({ failed: [{ name: 'total_is_small' }] })
    await expect(publishing()).rejects.toMatchObject({ exitCode: EXIT.checkFailed })
    site.write('checks/total_is_small.sql', 'select * from total where people > 3')
    const whole = await site.build()
    expect(whole.fullRefreshReason).toBe('the last build made some models only')
    expect(await site.rows('from total')).toEqual([{ people: 3n }])
    expect(await publishing()).toMatchObject({ build_id: 'night' })
  })

  it('with its readers builds both, and fails only by their checks', async () => {
    site.write('models/staff.sql', 'select organization_id, people from sizes')
    await expect(site.build({ select: ['staff+'] })).rejects.toMatchObject({
      exitCode: EXIT.checkFailed,
      failed: [{ name: 'total_is_small' }],
    })
    expect(await site.rows('from staff')).toHaveLength(1)
    site.remove('checks/total_is_small.sql')
    const { models } = await site.build({ select: ['staff+'] })
    expect(models.map(({ name }) => name)).toEqual(['staff', 'total'])
    expect(await site.rows('from total')).toEqual([{ people: 3n }])
  })

  it('of one of Jobtide’s models builds what it names, and the next whole build rebuilds its readers', async () => {
    await site.warehouse.run('delete from sizes; delete from total')
    const { models } = await site.build({ select: ['+sizes'] })
    const rows = Object.fromEntries(models.map(({ name, rowsChanged }) => [name, rowsChanged]))
    expect(rows).toMatchObject({ arrivals: 3, sizes: 2 })
    await site.build()
    expect(await site.rows('from total')).toEqual([{ people: 2n }])
  })

  it('is refused if 1 event was loaded since the last build, or nothing was built', async () => {
    await insertEvents(site.warehouse, [joined('dan', 'globex', '2024-04-01')])
    await expect(site.build({ select: ['staff'] })).rejects.toMatchObject({
      exitCode: EXIT.usage,
      message: expect.stringContaining('loaded after the last build') as string,
    })
    site.remove('checks/total_is_small.sql')
    await site.build()
    expect(await site.rows('from total')).toEqual([{ people: 4n }])
    await site.warehouse.run('delete from ops.build_state')
    await expect(site.build({ select: ['staff'] })).rejects.toMatchObject({
      message: expect.stringContaining('there is no earlier build') as string,
    })
  })

  it('leaves the table of a removed file, or of an edited one that is not named, to the whole build', async () => {
    site.write('models/total.sql', 'select count(*) as n from staff')
    site.remove('checks/total_is_small.sql')
    site.write('models/other.sql', 'select 1 as n')
    await site.build({ select: ['other'] })
    expect(await site.rows('from total')).toEqual([{ people: 2n }])
    site.remove('models/total.sql')
    await site.build({ select: ['staff'] })
    expect(await site.rows('from total')).toEqual([{ people: 2n }])
    expect((await site.build()).dropped).toEqual(['total'])
    await expect(site.rows('from total')).rejects.toThrow('does not exist')
  })
})
