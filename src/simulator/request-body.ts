/** Reading the body of a request, up to a limit. */

import type { IncomingMessage } from 'node:http'
import { MIB } from '../support/units.ts'

// 50 company URLs are a few kilobytes.
const LARGEST_BODY = MIB

/** The body is larger than the simulator reads: becomes a 413. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge'
}

/**
 * The whole body as text. Listens to events: every page passes here, and an async iterator costs more.
 * @throws BodyTooLarge beyond 1 MiB; any other error means that the client went away
 */
export function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= LARGEST_BODY) chunks.push(chunk)
      else reject(new BodyTooLarge(`the body is larger than ${LARGEST_BODY} bytes`))
    })
    request.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
    request.once('error', reject)
  })
}
