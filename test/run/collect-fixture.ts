/** A site with a pipeline of `kind: collect` over the pages of its companies. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openSite, type Site, type SiteOptions } from '../helpers/run-cli.ts'

const COMPANIES = 8

export interface RunDocument {
  readonly extract: { readonly pages: number; readonly events: number; readonly credits: number }
  readonly exit_code: number
}

/** A site with a pipeline over the pages of its companies. */
export async function openCollection(options: SiteOptions = {}, lines: readonly string[] = []) {
  const site = await openSite({ companies: COMPANIES, ...options })
  const urls = site.simulator.organizations().map(({ network_url: url }) => url)
  const list = join(site.folder, 'companies.csv')
  const listOf = (names: readonly (string | null)[]) =>
    writeFileSync(list, ['url', ...names].join('\n'))
  listOf(urls)
  const pipeline = join(site.folder, 'companies.yaml')
  const text = [
    'name: companies',
    'kind: collect',
    'endpoint: company-profile',
    'for_each: companies.csv',
  ]
  writeFileSync(pipeline, [...text, 'snapshot: { to: snapshots }', ...lines, ''].join('\n'))
  return { ...site, pipeline, urls, listOf }
}

export function ledger(site: Pick<Site, 'query'>) {
  return site.query<{ credits: number; requests: number }>(
    'select sum(credits_used) as credits, count(*) as requests from ops.pages',
  )
}
