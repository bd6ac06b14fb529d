/** The macros by which watch-lists and data name the same page or person. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { sqlFolder } from '../../src/support/assets.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'

describe('what is the same in all spellings', () => {
  let warehouse: Warehouse
  beforeAll(async () => {
    warehouse = await memoryWarehouse({ threads: 1 })
    await warehouse.run(readFileSync(join(sqlFolder, 'macros.sql'), 'utf8'))
    return () => warehouse.close()
  })

  it.each([
    ['page_name', 'https://www.network.example/in/Ada-L/', 'network.example/in/ada-l'],
    ['page_name', 'http://uk.network.example/in/ada-l?trk=1#x', 'network.example/in/ada-l'],
    ['page_name', '//m.network.example/in/j%C3%BCrgen/', 'network.example/in/jürgen'],
    ['page_name', 'network.example/in/50%', 'network.example/in/50%'],
    ['page_name', 'Ada.L', 'ada.l'],
    ['plain_name', '  José  GARCÍA ', 'jose garcia'],
    ['plain_name', 'Jose\u0301\u00a0Garci\u0301a', 'jose garcia'],
    ['plain_name', 'J. R. Müller, MBA', 'j r muller mba'],
    ['plain_name', 'Siobhán O’Brien-Kelly', 'siobhan o brien kelly'],
    ['plain_name', "SIOBHAN O'BRIEN KELLY", 'siobhan o brien kelly'],
    ['plain_name', 'Łukasz Søren Đorđević', 'lukasz soren dordevic'],
    ['plain_name', 'IŞIK İnan', 'isik inan'],
    ['plain_name', 'Işık Inan', 'isik inan'],
    ['plain_name', 'Weiß Æther Þór', 'weiss aether thor'],
    ['plain_name', 'Ｊｏｈｎ Ｄｏｅ', 'john doe'],
    ['plain_name', '山田　太郎', '山田太郎'],
    ['plain_name', '김 민수', '김민수'],
    ['plain_name', 'ガギ', 'ガギ'],
    ['plain_name', 'Юрий', 'юрий'],
  ])('%s of %s is %s', async (macro, written, same) => {
    const [row] = await warehouse.all(`select ${macro}($1) as same`, [written])
    expect(row).toEqual({ same })
  })
})
