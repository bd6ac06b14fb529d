/**
 * Every command with names, titles, fields, messages and paths that try to control a terminal: none of it gets through.
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { describe, expect, it } from 'vitest'
import { sourceOf, type EventSource } from '../../src/simulator/events.ts'
import { DAY } from '../../src/support/units.ts'
import { HOSTILE, HOSTILE_ID, obeyedIn } from '../helpers/hostile-text.ts'
import { done, openSite, pipelineText, type Site } from '../helpers/run-cli.ts'

const PERSON = `p${HOSTILE_ID}`
// A list accepts no name with invisible characters.
const ORGANIZATION = 'o1'

function hostileWorld(events = 3): EventSource {
  const name = HOSTILE
  const now = Date.now()
  const made = Array.from({ length: events }, (_, n) => {
    const at = new Date(now - (n + 2) * DAY).toISOString()
    return {
      event_type: n % 2 === 0 ? ('joined' as const) : ('title_change' as const),
      detected_at: at,
      changed_at: at,
      detection_lag_days: 0,
      title: { current: `${name}${n}`, previous: name, [`t${name}`]: 1 },
      person: {
        // An id with control characters is invalid, and the event becomes a reject.
        profile_id: n === 2 ? `q${HOSTILE}` : PERSON,
        handle: name,
        full_name: name,
        first_name: name,
        last_name: name,
        headline: name,
        network_url: name,
      },
      organization: { organization_id: ORGANIZATION, name, slug: name, network_url: name },
      [`field${name}`]: name,
    }
  })
  return sourceOf(made)
}

type How = 'terminal' | 'pipe' | 'json'

/** Runs a command that writes for a terminal, a pipe or a program, and checks what it wrote to both streams. */
async function look(site: Site, args: readonly string[], how: How) {
  const json = how === 'json' ? ['--json'] : []
  const isCsv = args.includes('csv')
  const options = { isTerminal: how === 'terminal' }
  const result = await site.call([...args, '--log-level', 'trace', ...json], options)
  // Jobtide redraws the line of a stage and sets colours; the hostile text contains none of these colours.
  // oxlint-disable-next-line no-control-regex
  const plain = (text: string) => text.replaceAll(/\u001b\[[1239]\d?m/g, '')
  const stderr = result.stderr.replaceAll('\r', '').replaceAll('\u001b[K', '')
  const outputs = isCsv && how === 'pipe' ? [stderr] : [stderr, result.stdout]
  for (const text of outputs.map(plain)) {
    expect(obeyedIn(text), `${args.join(' ')}: ${how}`).toBeNull()
    // A CSV cell may contain line breaks.
    if (!isCsv) expect(text).not.toMatch(/^(?:jobtide: forged| {2}→ rm)/m)
  }
  return result
}

describe('with hostile names everywhere', () => {
  it('no command prints a character that a terminal obeys, and JSON and CSV lose none', async () => {
    const site = await openSite({ source: hostileWorld() })
    // Paths are hostile too.
    const dataDir = join(site.folder, `data${HOSTILE}`.replaceAll(/[/\0\n]/g, '').slice(0, 80))
    const at: Site = {
      ...site,
      call: (args, more) => site.call([...args, '--data-dir', dataDir], more),
    }
    const run = done(await look(at, ['run', site.pipeline], 'terminal'))
    expect(run.stdout).toContain('unknown fields, kept in the journal')
    done(await look(at, ['load'], 'pipe'))
    done(await look(at, ['publish', '--pipeline', site.pipeline], 'json'))
    done(await look(at, ['verify', join(dataDir, 'snapshots')], 'terminal'))
    // With an invisible character, but the id of a person.
    const planned = await look(at, ['forget', PERSON, '--pipeline', site.pipeline], 'terminal')
    expect(done(planned).stdout).toContain('would be erased: 1 person')
    for (const args of [
      ['status'],
      ['coverage'],
      ['coverage', '--prove'],
      ['credits', '--by', 'organization'],
      ['plan', site.pipeline],
      ['rejects'],
      ['models'],
      ['snapshots', '--pipeline', site.pipeline],
      ['export-person', PERSON],
      ['query', 'from job_change_events'],
      ['query', 'from job_change_events', '--format', 'csv'],
    ]) {
      for (const how of ['terminal', 'json'] as const) done(await look(at, args, how))
    }
    const sql = `select title_current as "${HOSTILE.replaceAll(/["\0]/g, '')}" from job_change_events order by 1`
    const csv = await look(at, ['query', sql, '--format', 'csv'], 'pipe')
    const json = await look(at, ['query', sql], 'json')
    const titles = (JSON.parse(json.stdout) as Record<string, string>[]).flatMap(Object.values)
    expect(titles).toEqual([`${HOSTILE}0`, `${HOSTILE}1`])
    expect((parse(csv.stdout) as string[][]).flat().slice(1)).toEqual(titles)
    const exported = JSON.parse(
      (await look(at, ['export-person', PERSON], 'pipe')).stdout,
    ) as object
    expect(JSON.stringify(exported)).toContain(JSON.stringify(HOSTILE).slice(1, -1))
  }, 240_000)

  it('neither does an error about SQL, paths, names or lists, or from the service', async () => {
    const faults = [{ status: 403, message: HOSTILE, times: 'always' as const }]
    const site = await openSite({ source: hostileWorld(), faults })
    const list = join(site.folder, 'list.csv')
    writeFileSync(list, `ok\n${HOSTILE}\n`)
    const broken = join(site.folder, 'broken.yaml')
    writeFileSync(broken, `${pipelineText()}"${HOSTILE.replaceAll(/["\\\p{Cc}]/gu, '')}": 1\n`)
    const path = HOSTILE.replaceAll('\0', '')
    for (const args of [
      ['run', site.pipeline],
      ['run', path],
      ['run', broken],
      ['run', site.pipeline, '--organizations', list],
      ['run', site.pipeline, '--organizations', path],
      ['run', site.pipeline, '--credits', path],
      ['query', `select '${path}' + 1 from "${path}"`],
      ['query', `select error('${path.replaceAll("'", '')}')`],
      ['verify', path],
      ['restore', path],
      ['diff', path, path],
      ['models', path],
      ['titles', path],
      ['export-person', path],
      ['forget', '--from', path],
      ['simulate', '--events', path],
      [path],
      ['status', `--${path}`],
    ]) {
      for (const how of ['terminal', 'json'] as const) {
        expect((await look(site, args, how)).exitCode, args.join(' ')).toBeGreaterThan(1)
      }
    }
  }, 240_000)
})
