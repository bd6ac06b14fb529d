/** How destinations of snapshots are reached: with the S3 settings of the pipeline that publishes there. */

import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { packageRoot } from '../../support/assets.ts'
import { ConfigError } from '../../support/errors.ts'
import type { ForgetTarget } from './forget-world.ts'
import { readSnapshotTarget } from '../job.ts'

/**
 * The destinations `known` of a data directory, and that of `pipeline` where it is none of them, each as the pipelines in
 * ./pipelines, or Jobtide's own, reach it.
 * @param pipeline a name or path; null for none
 * @throws ConfigError when that pipeline cannot be read
 */
export function forgetTargets(
  dataDir: string,
  pipeline: string | null,
  known: readonly string[],
): ForgetTarget[] {
  const named = pipeline === null ? null : readSnapshotTarget(pipeline, {}, dataDir)
  const declared = [...(named === null ? [] : [named]), ...targetsOfPipelines(dataDir)]
  const wanted = [...known, ...(named === null ? [] : [named.to])].map(plain)
  return [...new Set(wanted)].map(
    (to) => declared.find((target) => plain(target.to) === to) ?? { to, s3: {} },
  )
}

// The store's own word for a destination has no slash at its end.
function plain(destination: string): string {
  return destination.replace(/(?<=.)\/+$/, '')
}

function targetsOfPipelines(dataDir: string): ForgetTarget[] {
  return [resolve('pipelines'), join(packageRoot, 'pipelines')]
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => /\.ya?ml$/.test(name))
        .flatMap((name) => targetIn(join(folder, name), dataDir) ?? []),
    )
}

// Somebody else's mistake in a pipeline that has nothing to do with it stops no forgetting.
function targetIn(path: string, dataDir: string): ForgetTarget | null {
  try {
    return readSnapshotTarget(path, {}, dataDir)
  } catch (error) {
    if (error instanceof ConfigError) return null
    throw error
  }
}
