/**
 * What S3 does, as far as Jobtide depends on it, and what our store makes of it: one suite for the strict server of these
 * tests and for real ones, so that the first cannot drift away from the others.
 */

import { beforeAll, afterAll, describe, it, vi } from 'vitest'
import type { S3Target } from '../../helpers/s3-raw-request.ts'
import { describeListings } from './conformance-listings.ts'
import { describeObjects } from './conformance-objects.ts'
import { describeParts } from './conformance-parts.ts'
import { describeRequests } from './conformance-requests.ts'
import { describeStore } from './conformance-store.ts'
import { describeVersions } from './conformance-versions.ts'

/** A server and what is known of it. */
export interface ServerUnderTest {
  /** With its release, where it has one. */
  readonly name: string
  /** A KMS key that it knows. */
  readonly kmsKeyId: string
  /** Checks that it does not pass, by name, with the reason. */
  readonly deviations: Readonly<Record<string, string>>
  /** An empty bucket. */
  newBucket(): Promise<S3Target>
}

/** What the parts of the suite are made of. */
export interface Conformance {
  readonly server: ServerUnderTest
  /** A bucket for one part of the suite, made before its first check. */
  readonly bucket: () => () => S3Target
  /** One check; where it is a known deviation it must fail. */
  readonly check: (name: string, body: () => Promise<void>) => void
}

/** Describes everything. */
export function describeConformance(server: ServerUnderTest): void {
  const names = new Set<string>()
  const conformance: Conformance = {
    server,
    bucket() {
      let target: S3Target | undefined
      beforeAll(async () => {
        target = await server.newBucket()
      })
      return () => {
        if (target === undefined) throw new Error('there is no bucket before the first check')
        return target
      }
    },
    check(name, body) {
      names.add(name)
      const reason = server.deviations[name]
      if (reason === undefined) it(name, body)
      else it.fails(`${name} — known deviation: ${reason}`, body)
    },
  }
  describe(server.name, () => {
    beforeAll(() => {
      vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
    })
    afterAll(() => {
      vi.unstubAllEnvs()
    })
    describeRequests(conformance)
    describeObjects(conformance)
    describeParts(conformance)
    describeListings(conformance)
    describeVersions(conformance)
    describeStore(conformance)
    it('deviates in checks that there are only', ({ expect }) => {
      expect(Object.keys(server.deviations).filter((name) => !names.has(name))).toEqual([])
    })
  })
}
