/** Searches for a secret, in every spelling, in texts and in every file below a folder. */

import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Names of the texts and paths of the files that contain `secret`; a test expects none. */
export function leaksOf(
  secret: string,
  texts: Readonly<Record<string, string>>,
  folder?: string,
): string[] {
  const bytes = Buffer.from(secret)
  const spellings = [
    secret,
    encodeURIComponent(secret),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
  ]
  const holds = (content: Buffer) => spellings.some((spelling) => content.includes(spelling))
  const inTexts = Object.keys(texts).filter((name) => holds(Buffer.from(texts[name] ?? '')))
  const inFiles =
    folder === undefined ? [] : filesBelow(folder).filter((p) => holds(readFileSync(p)))
  return [...inTexts, ...inFiles]
}

function filesBelow(folder: string): string[] {
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) return []
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}
