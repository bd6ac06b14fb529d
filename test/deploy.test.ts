/** The examples of deploy/ agree with each other and with what the program exits with. */

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { EXIT } from '../src/support/errors.ts'
import { packageRoot } from '../src/support/assets.ts'

const folder = join(packageRoot, 'deploy')
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
  /\/[\w@.-]*(?:Dockerfile|\.\w+)$/.test(name),
)
const read = (name: string) => readFileSync(join(folder, name), 'utf8')

it('each of the 9 is named in the README, with how it was tried', () => {
  expect(files).toHaveLength(9)
  expect(files.filter((name) => !read('README.md').includes(`\`${name}\``))).toEqual([])
})

it('the YAML files have no error', () => {
  const documents = files
    .filter((name) => name.endsWith('.yaml'))
    .map(read)
    .flatMap(allOf)
  expect(documents).toHaveLength(3)
  expect(documents.flatMap(({ errors }) => errors)).toEqual([])
})

it('none retries what a retry cannot fix, such as a bug, a key or a refused publish', () => {
  const { defect, usage, refused, budget, checkFailed, publishFailed, storage } = EXIT
  const codes = [defect, usage, refused, budget, checkFailed, publishFailed, storage]
  const list = codes.join(', ')
  for (const name of ['airflow/jobtide_nightly.py', 'dagster/jobtide_nightly.py'])
    expect(read(name)).toContain(`NO_RETRY = (${list})`)
  expect(read('kubernetes/cronjob.yaml')).toContain(`values: [${list}]`)
  expect(read('systemd/jobtide@.service')).toContain(
    `RestartPreventExitStatus=${codes.join(' ')}\n`,
  )
  expect(read('README.md').replaceAll(/\s+/g, ' ')).toContain(
    `These examples do not retry codes ${codes.slice(0, -1).join(', ')} and ${storage}.`,
  )
})

function allOf(text: string) {
  return [...parseAllDocuments(text)]
}
