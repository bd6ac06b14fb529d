/** `init`: writes a folder in which `jobtide run nightly` works, with a key and an address. */

import { relative, sep } from 'node:path'
import { skippedText, skippedValues } from '../plan/skipped-lines.ts'
import { makeProjectFolder } from '../run/folder.ts'
import { countText } from '../support/numbers.ts'
import { shellWord } from '../support/text.ts'
import type { Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'
import type { Fact, Report } from './report.ts'

export async function initCommand(
  _: Context,
  target: string,
  { organizations: listFile }: OptionsOf<'init'>,
): Promise<Report> {
  const { folder, files, organizations, skipped } = await makeProjectFolder(target, listFile)
  const below = relative(process.cwd(), folder)
  const named = below.startsWith(`..${sep}`) || below === '..' ? folder : below
  const next = [
    ...(below === '' ? [] : [`cd ${shellWord(named)}`]),
    ...(organizations === null ? ['list the organisations to watch in organizations.csv'] : []),
    'cp .env.example .env && chmod 600 .env',
    'put the address of the service and the key into .env',
    'jobtide doctor',
    'jobtide plan nightly',
    'jobtide run nightly',
  ]
  return {
    title: `${folder} is ready for ${organizations === null ? 'your list' : countText(organizations, 'organisation')}`,
    sections: [
      [
        ...files.map(({ path, isNew }): Fact => [
          isNew ? 'written' : 'kept',
          `${relative(folder, path)}${isNew ? '' : ', as it was'}`,
        ]),
        skipped.length > 0 && ['skipped', skipped.map(skippedText)],
      ],
      [['next', next]],
    ],
    values: {
      folder,
      organizations,
      skippedLines: skippedValues(skipped),
      files: files.map(({ path, isNew }) => ({ path, written: isNew })),
    },
  }
}
