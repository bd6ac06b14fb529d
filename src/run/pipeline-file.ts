/** Where the file of a pipeline is, and the project around it. */

import { existsSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, extname, isAbsolute, join, resolve } from 'node:path'
import { holdsOwn } from '../model/own/files.ts'
import { packageRoot } from '../support/assets.ts'
import { namesIn } from '../support/atomic-file.ts'
import { ConfigError } from '../support/errors.ts'
import { isWithin, refuseOthersFile } from '../support/file-modes.ts'
import { didYouMean } from '../support/nearest.ts'
import type { DataDirectory } from './data-directory.ts'

/** As {@link pipelineFile}. @throws ConfigError where there is none, with where it was looked for and what may be meant */
export function findPipeline(name: string): string {
  const found = pipelineFile(name)
  if (found !== undefined) return found
  const files = pipelineFiles(name)
  const names = [...new Set(files.map((file) => dirname(file)))].flatMap(pipelinesIn)
  const meant = didYouMean(basename(name, extname(name)), names)
  throw new ConfigError(`there is no pipeline ${JSON.stringify(name)}`, {
    hint: `${meant}Looked for ${files.join(' and ')}. Name a pipeline there, or give the path of a YAML file; \`jobtide init\` writes one.`,
  })
}

/** The files of the pipelines in a folder, by name; none where it is not there. */
export function pipelineFilesIn(folder: string): string[] {
  return namesIn(folder, /\.ya?ml$/).map((name) => join(folder, name))
}

function pipelinesIn(folder: string): string[] {
  const files = pipelineFilesIn(folder).filter((path) => path.endsWith('.yaml'))
  return files.map((path) => basename(path, '.yaml'))
}

/**
 * The pipeline `name`, for a command that names none.
 * @throws ConfigError where ./pipelines has others: Jobtide's own must not take their place
 */
export function defaultPipeline(name: string): string {
  const folder = resolve('pipelines')
  const isExample = existsSync(folder) && realpathSync(folder) === PIPELINES
  const own = isExample ? [] : pipelinesIn(folder)
  if (own.length === 0 || own.includes(name)) return name
  throw new ConfigError(`no pipeline was named, and ${folder} has no ${name}.yaml`, {
    hint: `Name a pipeline: ${own.join(', ')}. Nothing was sent.`,
  })
}

/** The file of the pipeline `name`, or the one at that path; undefined where there is none. */
export function pipelineFile(name: string): string | undefined {
  return pipelineFiles(name).find((path) => existsSync(path))
}

const PIPELINES = join(packageRoot, 'pipelines')

function pipelineFiles(name: string): string[] {
  const isPath = isAbsolute(name) || /[/\\]/.test(name) || /\.ya?ml$/.test(name)
  if (isPath) return [resolve(name)]
  const folders = new Set([resolve('pipelines'), PIPELINES])
  return [...folders].map((folder) => join(folder, `${name}.yaml`))
}

/** Reads from a pipeline file; null where the file is wrong, for commands that it need not concern. */
export function unlessWrong<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof ConfigError) return null
    throw error
  }
}

/**
 * A pipeline file says where snapshots and messages go. Jobtide's own belong to the account that installed the package.
 * @returns whether a group may write it
 * @throws ConfigError where another account, or every account, may write it
 */
export function refuseOthersPipeline(file: string): boolean {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined || isWithin(PIPELINES, file)) return false
  return refuseOthersFile(file, found, file, 'send what is published elsewhere')
}

/**
 * The folder above the `pipelines/` of a named pipeline; else the current one, or the one above the data directory, where that has
 * models, checks or lists; null where neither has.
 * @param pipelines that the command names
 */
export function ownFolder(pipelines: readonly string[], { root }: Pick<DataDirectory, 'root'>) {
  const folders = pipelines.map((name) => resolve(dirname(pipelineFile(name) ?? name)))
  const isProjects = (folder: string) =>
    basename(folder) === 'pipelines' && folder !== join(packageRoot, 'pipelines')
  const named = folders.find(isProjects)
  if (named !== undefined) return dirname(named)
  return [resolve('.'), dirname(root)].find((folder) => holdsOwn(folder)) ?? null
}
