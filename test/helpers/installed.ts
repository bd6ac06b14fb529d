import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CLI } from './run-cli.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** Installs Jobtide again, with some files changed. @returns the path of its command line */
export function installedWith(files: Readonly<Record<string, string>>): string {
  const home = dirname(dirname(CLI))
  const copy = temporaryFolder()
  for (const part of ['dist', 'sql', 'config', 'pipelines', 'package.json']) {
    cpSync(join(home, part), join(copy, part), { recursive: true })
  }
  symlinkSync(join(home, 'node_modules'), join(copy, 'node_modules'))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(copy, path)), { recursive: true })
    writeFileSync(join(copy, path), text)
  }
  return join(copy, 'dist', 'cli.js')
}
