/** Lists of config/ that models read: groups, pseudo-employers, and decisions on transfers. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { format } from 'prettier'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  organizationGroups,
  organizationGroupsSchema,
  pseudoEmployers,
  pseudoEmployersOf,
  pseudoEmployersSchema,
  transferDecisions,
  transferDecisionsSchema,
} from '../../src/model/config-lists.ts'
import { packageRoot, sqlFolder } from '../../src/support/assets.ts'
import { parseYaml } from '../../src/titles/yaml-file.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'

let warehouse: Warehouse
beforeAll(async () => {
  warehouse = await memoryWarehouse()
  await warehouse.run(readFileSync(join(sqlFolder, 'macros.sql'), 'utf8'))
})
afterAll(() => warehouse.close())

describe('names of pseudo-employers', () => {
  it('have the form of plain_name', async () => {
    const values = pseudoEmployers.map(({ name }) => `('${name}')`).join(', ')
    const others = await warehouse.all<{ name: string }>(
      `select name from (values ${values}) as given(name) where plain_name(name) <> name`,
    )
    expect(others).toEqual([])
  })

  it.each([
    ['Self-Employed', 'self_employed'],
    ['Selbständig', 'self_employed'],
    ['Auto-entrepreneur', 'self_employed'],
    ['フリーランス', 'self_employed'],
    ['Stealth Mode Start-up', 'hidden'],
    ['Stealth AI Startup', 'hidden'],
    ['Confidential', 'hidden'],
    ['Career Break', 'none'],
    ['Actively seeking new opportunities', 'none'],
    ['Arbeitssuchend', 'none'],
    ['En recherche d’emploi', 'none'],
    ['На пенсии', 'none'],
    // Real firms of these names.
    ['Freelancer.com', null],
    ['Stealth Monitoring', null],
    ['Independent Bank', null],
    ['The Independent', null],
    ['Self Esteem Brands', null],
    ['Confidential Records Inc.', null],
    ['Sabbatical Brewing', null],
    ['Retired Racehorse Project', null],
    ['Contract Pharmaceuticals', null],
    ['Acme', null],
  ])('hold %j as %s', async (written, kind) => {
    const [row] = await warehouse.all<{ name: string }>('select plain_name($1) as name', [written])
    const found = pseudoEmployers.find(({ name }) => name === row?.name)
    expect(found?.kind ?? null).toBe(kind)
  })

  it('expand to all combinations of their brackets', () => {
    const text =
      'employers: [{ kind: none, reason: r, names: [a, "[on a|on|] long [break|walk]"] }]'
    const names = pseudoEmployersOf(parseYaml(text, 'p.yaml', pseudoEmployersSchema))
    expect(names.map(({ name }) => name)).toEqual([
      'a',
      'on a long break',
      'on a long walk',
      'on long break',
      'on long walk',
      'long break',
      'long walk',
    ])
  })

  it.each([
    ['kind: gone, reason: r, names: [a]', '2: employers.0.kind'],
    ['kind: none, names: [a]', '2: employers.0.reason'],
    ['kind: none, reason: r, names: []', '2: employers.0.names'],
    ['kind: none, reason: r, names: ["a [b"]', '2: employers.0.names.0: a [b: brackets'],
    ['kind: none, reason: r, names: ["[a|]"]', '2: employers.0.names.0: [a|]: it can be empty'],
    [
      'kind: none, reason: r, names: [a] }\n- { kind: hidden, reason: r, names: [b, a]',
      '3: employers.1.names.1: a: a has another kind already',
    ],
  ])('refuse %j, naming line and key', (entry, message) => {
    const text = `employers:\n- { ${entry} }`
    expect(() => parseYaml(text, 'employers.yaml', pseudoEmployersSchema)).toThrow(
      `employers.yaml:${message}`,
    )
  })
})

describe('groups of organisations', () => {
  const MEMBER = 'members: [{ organization: o, kind: main }]'
  it.each([
    ['name: a, members: [{ organization: o, kind: boss }]', '2: groups.0.members.0.kind'],
    [
      'name: a, members: [{ organization: o, kind: alias, from: 2020-13-01 }]',
      '2: groups.0.members.0.from: expected a day such as 2018-12-11',
    ],
    [
      'name: a, members: [{ organization: o, kind: alias, from: 2020-02-01, to: 2020-01-01 }]',
      '2: groups.0.members.0.to: it is before',
    ],
    [
      `name: a, ${MEMBER} }\n- { name: a, members: [{ organization: p, kind: main }]`,
      '3: groups.1.name: there are two',
    ],
    [
      `name: a, ${MEMBER} }\n- { name: b, ${MEMBER}`,
      '3: groups.1.members.0.organization: o is in another group at that time',
    ],
    [
      'name: a, members: [{ organization: o, kind: main }, { organization: o, kind: alias }]',
      '2: groups.0.members.1.organization: o is in this group already',
    ],
  ])('refuses %j, naming line and key', (group, message) => {
    const text = `groups:\n- { ${group} }`
    expect(() => parseYaml(text, 'groups.yaml', organizationGroupsSchema)).toThrow(
      `groups.yaml:${message}`,
    )
  })

  it('an organisation may be in one group after another', () => {
    const text = `groups:
- { name: a, members: [{ organization: o, kind: acquisition, to: 2020-01-01 }] }
- { name: b, members: [{ organization: o, kind: acquisition, from: 2020-01-02 }] }`
    expect(parseYaml(text, 'groups.yaml', organizationGroupsSchema).groups).toHaveLength(2)
  })

  it('ships with none', () => {
    expect(organizationGroups()).toEqual([])
  })
})

describe('decisions on transfers', () => {
  it.each([
    ['from: a, to: b', '2: transfers.0.is_transfer'],
    ['from: a, to: b, is_transfer: maybe', '2: transfers.0.is_transfer'],
    ['from: a, to: b, is_transfer: true, why: c', '2: transfers.0.why: unknown key'],
    ['from: a, to: a, is_transfer: true', '2: transfers.0.to: a is the one that was left'],
    [
      'from: a, to: b, is_transfer: true }\n- { from: a, to: b, is_transfer: false',
      '3: transfers.1.from: a to b was decided before',
    ],
  ])('refuse %j, naming line and key', (entry, message) => {
    const text = `transfers:\n- { ${entry} }`
    expect(() => parseYaml(text, 'transfers.yaml', transferDecisionsSchema)).toThrow(
      `transfers.yaml:${message}`,
    )
  })

  it('ship with none', () => {
    expect(transferDecisions()).toEqual([])
  })
})

describe('JSON Schemas for editors describe every key of', () => {
  it.each([
    [
      'organization-groups',
      'Groups of organisations that belong together',
      organizationGroupsSchema,
      7,
    ],
    ['pseudo-employers', 'Names of employers that are none', pseudoEmployersSchema, 4],
    ['transfers', 'Decisions on candidates for transfers', transferDecisionsSchema, 5],
  ] as const)('config/%s.yaml', async (name, title, shape, keys) => {
    const schema = { title, ...z.toJSONSchema(shape, { io: 'input' }) }
    const text = await format(JSON.stringify(schema), { parser: 'json', printWidth: 100 })
    const path = join(packageRoot, 'config', `${name}.schema.json`)
    if (process.env['UPDATE'] === '1') writeFileSync(path, text)
    expect(readFileSync(path, 'utf8')).toBe(text)
    expect(text.match(/"description"/g)).toHaveLength(keys)
  })
})
