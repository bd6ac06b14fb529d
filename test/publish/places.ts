/** The two kinds of places that snapshots are published to. */

import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, vi } from 'vitest'
import { openStore } from '../../src/publish/store/open-store.ts'
import { realClock } from '../../src/support/clock.ts'
import { signInTo } from '../helpers/s3-client.ts'
import { startS3Server, type S3Server } from '../helpers/s3-server.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

/**
 * A folder, and a strict S3 that runs during the tests of the file, each with a function that opens an empty store
 * there. Call it once, at the top of the file.
 */
export function folderAndS3() {
  let server: S3Server
  let prefixes = 0
  beforeAll(async () => {
    server = await startS3Server()
    signInTo(server)
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    await server.close()
  })
  return [
    { place: 'a folder', open: () => openStore(temporaryFolder(), { clock: realClock }) },
    {
      place: 'S3',
      open: () => {
        prefixes += 1
        const destination = `s3://${server.bucket}/snapshots-of-test/${prefixes}`
        return openStore(destination, { clock: realClock, s3Endpoint: server.endpoint })
      },
    },
  ]
}

/** A file of random bytes, alone in its folder. */
export function fileOf(bytes: number): { path: string; content: Buffer } {
  const path = join(temporaryFolder(), 'file')
  const content = randomBytes(bytes)
  writeFileSync(path, content)
  return { path, content }
}
