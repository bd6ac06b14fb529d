import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { removeDatabase, replaceDatabase } from '../../src/warehouse/database-file.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

/** A folder with these files, each holding its own name; and the path of `jobtide.duckdb` in it. */
function folderWith(...names: readonly string[]): { folder: string; path: string } {
  const folder = temporaryFolder()
  for (const name of names) writeFileSync(join(folder, name), name)
  return { folder, path: join(folder, 'jobtide.duckdb') }
}

describe('removeDatabase', () => {
  it('removes a file with its log, and nothing else; nothing where there is none', () => {
    const { folder, path } = folderWith('jobtide.duckdb', 'jobtide.duckdb.wal', 'analyst.duckdb')
    removeDatabase(path)
    removeDatabase(path)
    expect(readdirSync(folder)).toEqual(['analyst.duckdb'])
  })
})

describe('replaceDatabase', () => {
  it('takes the place of the old file, whose log goes with it', async () => {
    const { folder, path } = folderWith('jobtide.duckdb', 'jobtide.duckdb.wal', 'finished')
    await replaceDatabase(path, join(folder, 'finished'))
    expect(readdirSync(folder)).toEqual(['jobtide.duckdb'])
    expect(readFileSync(path, 'utf8')).toBe('finished')
  })

  it('leaves file and log as they are when there is nothing to put in their place', async () => {
    const { folder, path } = folderWith('jobtide.duckdb', 'jobtide.duckdb.wal')
    await expect(replaceDatabase(path, join(folder, 'finished'))).rejects.toThrow(/ENOENT/)
    expect(readdirSync(folder)).toEqual(['jobtide.duckdb', 'jobtide.duckdb.wal'])
  })
})
