/**
 * Before `npm pack`: writes npm-shrinkwrap.json, what package-lock.json says of everything but development, so that the package
 * installs the versions that were tested. After it, `--remove`: a checkout goes by package-lock.json.
 */

import { readFileSync, rmSync, writeFileSync } from 'node:fs'

const PATH = 'npm-shrinkwrap.json'

if (process.argv.includes('--remove')) {
  rmSync(PATH, { force: true })
} else {
  const { packages, ...lock } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const { devDependencies: _, ...root } = packages['']
  const shipped = Object.entries(packages).filter(
    ([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional,
  )
  const kept = { ...lock, packages: { '': root, ...Object.fromEntries(shipped) } }
  writeFileSync(PATH, `${JSON.stringify(kept, null, 2)}\n`)
}
