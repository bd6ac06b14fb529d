/** The V8 code cache next to the bundle. */

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { packageRoot } from '../../src/support/assets.ts'

it('is there once, under the name of this Node.js: 20.19.0 crashes on the cache of 20.20.2', () => {
  const caches = readdirSync(join(packageRoot, 'dist', 'bundle')).filter((name) =>
    name.endsWith('.code'),
  )
  expect(caches).toEqual([`jobtide.cjs.${process.version}-${process.arch}.code`])
})
