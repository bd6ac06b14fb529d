/** Where the user's own models and checks are: in the folder of the project, which holds pipelines/. */

import { basename, dirname, join, resolve } from 'node:path'
import { holdsOwn } from '../model/own/files.ts'
import { packageRoot } from '../support/assets.ts'
import type { DataDirectory } from './data-directory.ts'
import { pipelineFile } from './pipeline-file.ts'

/**
 * The folder above the `pipelines/` of a named pipeline; else the current one, or the one above the data directory, where that has
 * models or checks; null where neither has.
 * @param pipelines that the command names
 */
export function ownFolder(
  pipelines: readonly string[],
  { root }: Pick<DataDirectory, 'root'>,
): string | null {
  const folders = pipelines.map((name) => resolve(dirname(pipelineFile(name) ?? name)))
  const isProjects = (folder: string) =>
    basename(folder) === 'pipelines' && folder !== join(packageRoot, 'pipelines')
  const named = folders.find(isProjects)
  if (named !== undefined) return dirname(named)
  return [resolve('.'), dirname(root)].find((folder) => holdsOwn(folder)) ?? null
}
