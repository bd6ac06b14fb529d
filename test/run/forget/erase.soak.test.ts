import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it, onTestFinished, vi } from 'vitest'
import { load } from '../../../src/load/load.ts'
import { erase } from '../../../src/run/forget/erase.ts'
import { PENDING_FILE } from '../../../src/run/forget/pending.ts'
import { keepVersions, s3ClientOf, signInTo } from '../../helpers/s3-client.ts'
import { startS3Server } from '../../helpers/s3-server.ts'
import {
  MARKERS,
  NOTHING_NEW,
  REQUEST,
  expectProved,
  filesWith,
  forgetSite,
  matchesIn,
  others,
  removeNights,
  targetAt,
  twoNights,
} from './forget-fixture.ts'

afterAll(removeNights)

it('stopped at each of its steps in turn, it continues on its own and leaves nothing', async () => {
  const { site, target } = await twoNights()
  const before = await site.read(others)
  const stops = [
    'searching the journal 2',
    'rewriting the journal 1',
    'warehouse 0',
    `searching ${target.to} 9`,
    'copies 0',
    'proof 9',
  ]
  for (const [index, stopAt] of stops.entries()) {
    const world = site.erasing([target], (step) => {
      if (step === stopAt) throw new Error(`stopped at ${step}`)
    })
    // The second call knows whom to erase.
    const request = index === 0 ? REQUEST : NOTHING_NEW
    await expect(erase(world, request)).rejects.toThrow(`stopped at ${stopAt}`)
    expect(existsSync(join(site.directory.root, PENDING_FILE))).toBe(true)
    // A load in between reads nothing twice, and never starts within a record.
    await site.read((warehouse) => load({ warehouse, journal: site.journal }))
  }
  const certificate = await erase(site.erasing([target]), NOTHING_NEW)
  expect(certificate).toMatchObject({ is_complete: true, remaining: [] })
  expect(certificate?.people).toHaveLength(1)
  expect(certificate?.proof.texts).toBe(MARKERS.length)
  expect(await matchesIn(site.directory.root)).toEqual([])
  expect(await site.read(others)).toEqual(before)
  await expectProved(target.to)
  expect(await erase(site.erasing([target]), NOTHING_NEW)).toBeNull()
}, 240_000)

it('leaves no version of an object that names them in a versioned bucket', async () => {
  const server = await startS3Server()
  signInTo(server)
  const client = s3ClientOf(server)
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    client.destroy()
    await server.close()
  })
  await keepVersions(client, server.bucket)
  const site = forgetSite(undefined, 0, server.endpoint)
  const target = targetAt(`s3://${server.bucket}/lake`)
  for (const night of [1, 2]) await site.night(target, night)
  const certificate = await erase(site.erasing([target]), REQUEST)
  expect(certificate).toMatchObject({ is_complete: true, remaining: [] })
  expect(certificate?.stores[0]?.snapshots).toHaveLength(2)
  for (const [key, object] of server.objects()) {
    expect(server.versionsOf(key)).toHaveLength(1)
    expect(MARKERS.filter((text) => object.body.includes(text))).toEqual([])
  }
  expect(server.uploads()).toEqual([])
  expect(filesWith(site.directory.root, MARKERS)).toEqual([])
  expect(existsSync(site.directory.published)).toBe(false)
}, 240_000)
