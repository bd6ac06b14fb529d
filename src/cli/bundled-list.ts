/** The list of organisations that ships with Jobtide names those of the simulator: no other service is asked for them. */

import { get } from 'node:http'
import { baseUrlFrom, hasBaseUrl, isLoopback, type Environment } from '../config.ts'
import type { Job } from '../run/job.ts'
import { CONTROL_PREFIX, SIMULATOR_MARK } from '../simulator/control.ts'
import { ConfigError } from '../support/errors.ts'
import { SECOND } from '../support/units.ts'

/**
 * Refuses the bundled list at every address but the simulator's. Another machine is sent nothing. On this machine, where a
 * proxy to the real service may listen, the simulator is asked who it is: without the key, on a path that costs nothing.
 * @throws ConfigError
 */
export async function refuseBundledList(job: Job, baseUrl: string): Promise<void> {
  if (!job.isBundledList) return
  if (!isLoopback(baseUrl) || !(await isSimulator(baseUrl))) throw bundledListError(job, baseUrl)
}

/** As {@link refuseBundledList}, judged by the address alone where there is one: for `plan`, which sends nothing. */
export function refuseBundledListElsewhere(job: Job, environment: Environment): void {
  if (!job.isBundledList || !hasBaseUrl(environment)) return
  const baseUrl = baseUrlFrom(environment)
  if (!isLoopback(baseUrl)) throw bundledListError(job, baseUrl)
}

function bundledListError({ pipeline, organizationsFile, question }: Job, baseUrl: string) {
  return new ConfigError(
    `pipeline ${pipeline} would ask ${baseUrl} for the ${question.organizations.length} organisations of ${organizationsFile}, which only the simulator knows; nothing was sent`,
    {
      hint: `Name your own list with --organizations FILE, or in a pipeline file of your own (pipelines/${pipeline}.yaml in the current folder). For the simulator: npx jobtide simulate.`,
      context: { organizations_file: organizationsFile },
    },
  )
}

const PATIENCE_MS = 5 * SECOND
// What the simulator says of itself is one short line; a page of something else is not read to its end.
const LONGEST_ANSWER = 1_000

/** Whether a simulator answers at an address on this machine. Sends no key; what does not answer is none. */
export function isSimulator(baseUrl: string): Promise<boolean> {
  return new Promise((resolve) => {
    const url = `${baseUrl}${CONTROL_PREFIX}clock`
    // The simulator speaks http only.
    if (!url.startsWith('http:')) return resolve(false)
    const request = get(
      url,
      { agent: false, signal: AbortSignal.timeout(PATIENCE_MS) },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (more: string) => {
          text += more
          if (text.length > LONGEST_ANSWER) request.destroy()
        })
        response.on('close', () => resolve(response.statusCode === 200 && isMarked(text)))
      },
    )
    request.on('error', () => resolve(false))
  })
}

function isMarked(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && SIMULATOR_MARK in value
  } catch {
    return false
  }
}
