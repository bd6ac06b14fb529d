/** What a manifest may say: names, keys and times end up in SQL and in paths. */

import { expect, it } from 'vitest'
import { formatJson, parseManifest } from '../../src/publish/manifest.ts'
import { aFile, aManifest, aTable } from './manifests.ts'

it.each([
  [3, 'an older', /^Publish to an empty destination .* and delete this one/],
  [5, 'a newer', /^Use the version that wrote it\.$/],
])(
  'a manifest of format %i is one of %s Jobtide, and nothing there is to be removed',
  (format, age, hint) => {
    const bytes = Buffer.from(JSON.stringify({ format_version: format }))
    const message = `it was written by ${age} Jobtide: its format is ${format}, and this one reads 4`
    const refused = { exitCode: 7, message, hint: expect.stringMatching(hint) as unknown }
    expect(() => parseManifest(bytes, null, 'it')).toThrow(
      expect.objectContaining(refused) as Error,
    )
  },
)

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
])('a manifest is refused where %s', (_, path, value) => {
  const manifest = aManifest({ tables: [aTable({ files: [aFile()] })] })
  const parsed = () => parseManifest(Buffer.from(formatJson(manifest)), null, 'it')
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
