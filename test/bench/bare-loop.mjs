/**
 * The floor of `extract` and `load`: fetches every page of batches of 50 organisations, 8 at a time, writes the events
 * as lines, and puts the newest row of each event into a new DuckDB file. It has no journal, fsync, ledger or field
 * checks.
 *
 * node test/bench/bare-loop.mjs BASE_URL ORGANIZATIONS.csv FOLDER
 */

import { createWriteStream, readFileSync } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { Agent, request } from 'undici'

const WORKERS = 8
const BATCH = 50

const [base, list, folder] = process.argv.slice(2)
const [, ...lines] = readFileSync(list, 'utf8')
  .trim()
  .split('\n')
  .filter((line) => !line.startsWith('#'))
const ids = lines.map((line) => line.split(',')[0])
const batches = []
for (let from = 0; from < ids.length; from += BATCH) batches.push(ids.slice(from, from + BATCH))

const dispatcher = new Agent({ connections: WORKERS })
const headers = { authorization: 'Bearer simulator-key', 'content-type': 'application/json' }
const file = join(folder, 'bare.ndjson')
const out = createWriteStream(file)

async function work() {
  for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
    for (let page = 1, hasMore = true; hasMore; page += 1) {
      const body = JSON.stringify({ organization_ids: batch, limit: 50, page })
      const url = `${base}/api/v1/job-changes/search`
      const answer = await request(url, { method: 'POST', dispatcher, headers, body })
      const { data, pagination } = JSON.parse(await answer.body.text())
      for (const event of data) out.write(`${JSON.stringify(event)}\n`)
      hasMore = pagination.has_more
    }
  }
}

await Promise.all(Array.from({ length: WORKERS }, work))
out.end()
await once(out, 'finish')
await dispatcher.close()

const instance = await DuckDBInstance.create(join(folder, 'bare.duckdb'))
const connection = await instance.connect()
await connection.run(`
  create table events as
  select * from read_json('${file}', format = 'newline_delimited', maximum_object_size = 1000000)
  qualify row_number() over (
    partition by person.profile_id, organization.organization_id, event_type, changed_at,
      case when event_type = 'title_change' then title.current end
    order by detected_at desc) = 1`)
connection.closeSync()
instance.closeSync()
