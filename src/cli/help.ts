/** `jobtide --help` as laid out for 80 columns when the package was built, which avoids declaring every command. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const { stdout } = process

try {
  const text = readFileSync(join(import.meta.dirname, '..', 'help.txt'))
  // A closed pipe is not a failure.
  stdout.on('error', () => undefined)
  stdout.write(text)
} catch {
  void import('./bundle.ts')
}
