/** The service that a command asks, as the environment names it. */

import { createTransport } from '../api/transport.ts'
import { apiKeyFrom, baseUrlFrom } from '../config.ts'
import type { Service } from '../run/run.ts'
import { packageVersion, type Context } from './context.ts'

/**
 * Works with the service, and hangs up afterwards. Its key is known to the scrubber from here on.
 * @throws ConfigError when address or key is missing or unsafe
 */
export async function withService<T>(
  context: Context,
  concurrency: number,
  work: (service: Service) => Promise<T>,
): Promise<T> {
  const baseUrl = baseUrlFrom(context.environment)
  const { secret } = apiKeyFrom(context.environment)
  context.scrubber.add(secret.reveal())
  const transport = createTransport({
    baseUrl,
    apiKey: secret,
    clock: context.clock,
    connections: concurrency,
    userAgent: `jobtide/${packageVersion()}`,
  })
  try {
    return await work({ transport, baseUrl })
  } finally {
    context.progress.stop()
    await transport.close()
  }
}
