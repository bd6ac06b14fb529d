/** What a command that asks the service works with: a pipeline as a job, and the service as the environment names it. */

import { createTransport } from '../api/transport.ts'
import { apiKeyFrom, baseUrlFrom, proxiesFrom } from '../config.ts'
import { readJob, type Job, type Overrides } from '../run/job.ts'
import type { Service } from '../run/run.ts'
import { refuseBundledList } from './bundled-list.ts'
import { packageVersion, type Context } from './context.ts'

/**
 * Reads the job, works with the service, and hangs up afterwards. Its key is known to the scrubber from here on.
 * @throws ConfigError when something is wrong with the pipeline or its list, or address or key is missing or unsafe
 */
export async function withService<T>(
  context: Context,
  pipeline: string,
  overrides: Overrides,
  work: (job: Job, service: Service) => Promise<T>,
): Promise<T> {
  const job = await readJob(pipeline, overrides, context.directory.root)
  const baseUrl = baseUrlFrom(context.environment)
  await refuseBundledList(job, baseUrl)
  const proxies = proxiesFrom(context.environment, baseUrl)
  const { secret, source, isReadableByOthers } = apiKeyFrom(context.environment)
  if (isReadableByOthers) context.logger.warn({ key: source }, 'key_is_readable_by_others')
  context.scrubber.add(secret.reveal())
  const transport = createTransport({
    baseUrl,
    apiKey: secret,
    clock: context.clock,
    connections: job.concurrency,
    userAgent: `jobtide/${packageVersion()}`,
    ...(proxies === undefined ? {} : { proxies }),
  })
  try {
    return await work(job, { transport, baseUrl })
  } finally {
    context.progress.stop()
    await transport.close()
  }
}
