/** `jobtide --help` as it was laid out when the package was built, for 80 columns: without it every command is declared first. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const { stdout } = process

try {
  const text = readFileSync(join(import.meta.dirname, '..', 'help.txt'))
  // A reader that is gone is no failure.
  stdout.on('error', () => undefined)
  stdout.write(text)
} catch {
  void import('./bundle.ts')
}
