/** The list of organisations that ships with Jobtide names those of the simulator: no other service is asked for them. */

import { baseUrlFrom, hasBaseUrl, isLoopback, type Environment } from '../config.ts'
import type { Job } from '../run/job.ts'
import { ConfigError } from '../support/errors.ts'

/** Refuses the bundled list at an address that is not on this machine, where there is an address. @throws ConfigError */
export function refuseBundledList(job: Job, environment: Environment): void {
  if (!job.isBundledList || !hasBaseUrl(environment)) return
  const baseUrl = baseUrlFrom(environment)
  if (isLoopback(baseUrl)) return
  const { pipeline, organizationsFile, question } = job
  throw new ConfigError(
    `pipeline ${pipeline} would ask ${baseUrl} for the ${question.organizations.length} organisations of ${organizationsFile}, which only the simulator knows; nothing was sent`,
    {
      hint: `Name your own list with --organizations FILE, or in a pipeline file of your own (pipelines/${pipeline}.yaml in the current folder). For the simulator: npx jobtide simulate.`,
      context: { organizations_file: organizationsFile },
    },
  )
}
