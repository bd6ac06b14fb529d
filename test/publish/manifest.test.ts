/** What a manifest may contain: names, keys and times end up in SQL and in paths. */

import { expect, it } from 'vitest'
import { formatJson, objectsOf, parseManifest, parseOutline } from '../../src/publish/manifest.ts'
import { aFile, aManifest, aTable } from './manifests.ts'

it('a manifest of format 6 belongs to a newer Jobtide, and nothing there may be removed', () => {
  const bytes = Buffer.from(JSON.stringify({ format_version: 6 }))
  const message = 'it was written by a newer Jobtide: its format is 6, and this one reads up to 5'
  const refused = {
    exitCode: 2,
    message,
    hint: 'Use the version that wrote it. Nothing was changed.',
  }
  expect(() => parseManifest(bytes, 'it')).toThrow(expect.objectContaining(refused) as Error)
  expect(() => parseOutline(bytes, 'it')).toThrow(expect.objectContaining(refused) as Error)
})

it('the outline of a manifest names its 3 objects and its predecessor, and refuses a key that leads outside', () => {
  const [file, other, third] = ['a', 'b', 'c'].map((digit) => aFile({ sha256: digit.repeat(64) }))
  const manifest = aManifest({
    tables: [aTable({ files: [file!, other!] }), aTable({ files: [third!] })],
  })
  const parsed = () => parseOutline(Buffer.from(formatJson(manifest)), 'it')
  const named = ({ key, bytes, sha256 }: { key: string; bytes: number; sha256: string }) => ({
    key,
    bytes,
    sha256,
  })
  expect(objectsOf(parsed())).toEqual([file, other, third].map((one) => named(one!)))
  expect(parsed().previous).toEqual(manifest.previous)
  third!.key = 'tables/x/../../../evil'
  expect(parsed).toThrow('it was not written by this Jobtide: ')
})

const HARM = "copy (select 1 as harm) to 'harm.csv'"

it.each<[string, string, unknown]>([
  ['a key leads out', 'tables.0.files.0.key', '../../../../etc/passwd'],
  ['a key is an absolute path', 'tables.0.files.0.key', '/etc/passwd'],
  ['a key leads out on a winding way', 'tables.0.files.0.key', 'tables/x/./../../../evil'],
  ['the name of a table is SQL', 'tables.0.name', `x"; ${HARM}; --`],
  ['the name of a table is one of JavaScript', 'tables.0.name', '__proto__'],
  ['the name of a table clears the screen', 'tables.0.name', '\u001B[2Jred'],
  ['the name of a column is SQL', 'tables.0.schema.0.name', `a" , (${HARM}) as "b`],
  ['the time of the snapshot is SQL', 'created_at', `2026-11-22T21:00:00.000Z\n${HARM}`],
  ['the id of the snapshot leads out', 'snapshot_id', '../../../outside'],
])('a manifest is refused if %s', (_, path, value) => {
  const manifest = aManifest({ tables: [aTable({ files: [aFile()] })] })
  const parsed = () => parseManifest(Buffer.from(formatJson(manifest)), 'it')
  expect(parsed()).toEqual(manifest)
  const steps = path.split('.')
  const last = steps.pop() ?? ''
  let at = manifest as unknown as Record<string, unknown>
  for (const step of steps) at = at[step] as Record<string, unknown>
  at[last] = value
  // The keys fit the name of their table.
  const { name, files } = manifest.tables[0]!
  if (path.endsWith('.0.name')) files[0]!.key = files[0]!.key.replace('/t/', `/${name}/`)
  expect(parsed).toThrow('it was not written by this Jobtide: ')
})
