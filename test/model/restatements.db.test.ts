/**
 * What `restatements` says was known of a month at the end of a later one is what the tables, read as known at that month's
 * end, hold of it. Random careers of people who come, rise, move inside, return and go; every event is detected late, received
 * later still, and may be corrected. What is seen later of one career happened later, but for the two events of an internal
 * move or of a return, which come in any order: so nothing that stands today was ever taken back, and the two must agree.
 */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { DAY } from '../../src/support/units.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { insertVersions } from './given-tables.ts'
import { insertEvents, type GivenEvent } from './insert-events.ts'

// More for a longer look: JOBTIDE_WORLDS=20.
const RUNS = Number(process.env['JOBTIDE_WORLDS'] ?? 1)
const CAREERS = 250
const ORGANIZATIONS = 50
const FIRST_DAY = Date.UTC(2023, 0, 1)

// Each rung is a promotion from the one before, whichever of the two ways it is written in.
const RUNGS = [
  ['Software Engineer', 'Software Developer'],
  ['Senior Software Engineer', 'Sr. Software Engineer'],
  ['Engineering Manager', 'Software Engineering Manager'],
  ['Director of Engineering', 'Director, Engineering'],
  ['VP Engineering', 'Vice President of Engineering'],
] as const

const anyWriting = fc.constantFrom(0, 1)
const anyLag = fc.constantFrom(0, 3, 20, 45)

const anySaying = fc.record({
  lag: anyLag,
  receivedAfter: anyLag,
  writing: anyWriting,
  /** A correction: how much later it is detected, and how the title is written in it. */
  correction: fc.option(fc.record({ after: fc.integer({ min: 1, max: 60 }), writing: anyWriting })),
})
type Saying = typeof anySaying extends fc.Arbitrary<infer T> ? T : never

const anyPart = fc.record({
  kind: fc.constantFrom('title_change', 'internal_move', 'internal_move', 'overlap', 'return'),
  /** Days after the part before; so many that nothing is one fact said twice. */
  after: fc.integer({ min: 70, max: 100 }),
  /** Days between the two events of an internal move or of a return. */
  between: fc.integer({ min: 0, max: 31 }),
  one: anySaying,
  other: anySaying,
})

const anyCareer = fc.record({
  startsOn: fc.integer({ min: 0, max: 60 }),
  joined: anySaying,
  parts: fc.array(anyPart, { maxLength: 2 }),
  left: fc.option(anySaying),
})
type Career = typeof anyCareer extends fc.Arbitrary<infer T> ? T : never

describe('restatements', () => {
  it(
    `count, for ${RUNS} × ${CAREERS} random careers, what the tables as known at the end of each month hold`,
    async () => {
      for (let run = 1; run <= RUNS; run += 1) {
        const warehouse = await warehouseOf(fc.sample(anyCareer, { numRuns: CAREERS, seed: run }))
        try {
          const compared = { service: 0, warehouse: 0 }
          for (const [index, month] of (await monthsOf(warehouse)).entries()) {
            for (const seenBy of ['service', 'warehouse'] as const) {
              // Every second month, one by what the service knew and the next by what the warehouse did.
              if (RUNS === 1 && index % 4 !== (seenBy === 'service' ? 0 : 2)) continue
              const restated = await restatedBy(warehouse, month, seenBy)
              const known = await knownBy(warehouse, month, seenBy)
              expect(restated, `run ${run}, by the ${seenBy}, at the end of ${month}`).toEqual(
                known,
              )
              compared[seenBy] += known.length
            }
          }
          expect(Math.min(compared.service, compared.warehouse)).toBeGreaterThan(200)
        } finally {
          warehouse.close()
        }
      }
    },
    RUNS * 120_000,
  )
})

async function warehouseOf(careers: readonly Career[]): Promise<Warehouse> {
  const sightings = [
    ...everyPair(),
    ...careers.flatMap((career, index) => sightingsOf(career, index)),
  ]
  const warehouse = await openWarehouse({ path: ':memory:', mode: 'write' })
  await insertEvents(
    warehouse,
    sightings.map(({ first, corrected }) =>
      corrected === null ? first : { ...corrected, first_seen_at: first.first_seen_at ?? '' },
    ),
  )
  await insertVersions(
    warehouse,
    sightings.flatMap(({ first, corrected }) => (corrected === null ? [] : [first, corrected])),
  )
  await buildModels(warehouse, { buildId: 'careers', builtAt: new Date('2025-01-01T00:00:00Z') })
  return warehouse
}

interface Sighting {
  readonly first: GivenEvent
  readonly corrected: GivenEvent | null
}

/** The events of a career, each with its correction if it has one. */
function sightingsOf({ startsOn, joined, parts, left }: Career, index: number): Sighting[] {
  const sightings: Sighting[] = []
  // What has been detected, and received, of the career so far.
  let known = { detected: 0, received: 0 }
  let soFar = known
  const say = (type: string, day: number, rung: number, saying: Saying): void => {
    const detected = Math.max(known.detected, day + saying.lag)
    const received = Math.max(known.received, detected + saying.receivedAfter)
    soFar = {
      detected: Math.max(soFar.detected, detected),
      received: Math.max(soFar.received, received),
    }
    const event: GivenEvent = {
      event_key: `person ${index}, event ${sightings.length}`,
      profile_id: `person ${index}`,
      organization_id: `organisation ${index % ORGANIZATIONS}`,
      event_type: type,
      changed_at: instant(day),
      detected_at: instant(detected),
      first_seen_at: instant(received),
      title_current: titleOf(rung, saying.writing),
      title_previous: type === 'title_change' ? titleOf(rung - 1, saying.writing) : null,
    }
    const { correction } = saying
    // The title of a title_change is part of its key: there the one before is corrected.
    const rewritten = correction && {
      ...(type === 'title_change'
        ? { title_previous: titleOf(rung - 1, correction.writing) }
        : { title_current: titleOf(rung, correction.writing) }),
      person_full_name: 'Corrected',
      detected_at: instant(detected + correction.after),
      first_seen_at: instant(received + correction.after),
    }
    sightings.push({ first: event, corrected: rewritten && { ...event, ...rewritten } })
  }

  let day = startsOn
  let rung = 0
  say('joined', day, rung, joined)
  for (const [place, { kind, after, between, one, other }] of parts.entries()) {
    day += after
    known = soFar
    if (kind === 'title_change') {
      rung += 1
      say('title_change', day, rung, one)
    } else if (kind === 'return') {
      say('left', day, rung, one)
      day += 70 + between
      say('joined', day, rung, other)
    } else {
      // The role before ends before the new one begins, or after: that only in the end, for what comes behind is told apart
      // by the leaving at the end of all.
      const overlaps = kind === 'overlap' && place === parts.length - 1
      say('left', overlaps ? day + between : day, rung, one)
      rung += 1
      say('joined', overlaps ? day : day + between, rung, other)
      day += between
    }
  }
  known = soFar
  if (left !== null) say('left', day + 100, rung, left)
  return sightings
}

/** One person has every change of title from the first day on: labels are made for the titles that are known now. */
function everyPair(): Sighting[] {
  return RUNGS.slice(1).flatMap((rung, below) =>
    rung.flatMap((title) =>
      (RUNGS[below] ?? []).map((previous, nth): Sighting => ({
        first: {
          profile_id: 'everybody',
          organization_id: 'everywhere',
          event_type: 'title_change',
          changed_at: instant(nth - 900),
          detected_at: instant(-800),
          first_seen_at: instant(-800),
          title_current: title,
          title_previous: previous,
        },
        corrected: null,
      })),
    ),
  )
}

/** The first days of the months in which anything became known of the careers. */
async function monthsOf(warehouse: Warehouse): Promise<string[]> {
  const rows = await warehouse.all<{ month: string }>(
    `select distinct cast(known_month_on as text) as month from restatements
     where organization_id <> 'everywhere' order by 1`,
  )
  return rows.map(({ month }) => month)
}

const FACTS = [
  ['joiners', 'joined_at'],
  ['leavers', 'left_at'],
  ['promotions', 'promoted_at'],
] as const

/** Joiners, leavers and promotions of each organisation and month up to `month` that restatements says were known at its end. */
async function restatedBy(
  warehouse: Warehouse,
  month: string,
  seenBy: 'service' | 'warehouse',
): Promise<string[]> {
  const rows = await warehouse.all<{ counts: string }>(
    `with figures as (
       select organization_id, month_start_on, sum(joiners) as joiners, sum(leavers) as leavers, sum(promotions) as promotions
       from organization_monthly where month_start_on <= date '${month}' group by all
     ),
     later as (
       select * from restatements where known_to = $1 and known_month_on > date '${month}'
       qualify known_month_on = min(known_month_on) over (partition by organization_id, month_start_on)
     )
     select concat_ws(' ', organization_id, month_start_on,
       coalesce(joiners_before, joiners), coalesce(leavers_before, leavers), coalesce(promotions_before, promotions)) as counts
     from figures left join later using (organization_id, month_start_on)
     where counts not like '% 0 0 0' order by 1`,
    [seenBy],
  )
  return rows.map(({ counts }) => counts)
}

/** The same, counted in the tables as known then, of what stands today: half an internal move can have been a leaving. */
async function knownBy(
  warehouse: Warehouse,
  month: string,
  seenBy: 'service' | 'warehouse',
): Promise<string[]> {
  const rows = await warehouse.all<{ counts: string }>(
    `with facts as (
       ${FACTS.map(
         ([table, at]) => `
       select known.organization_id, known.month_start_on, '${table}' as fact
       from ${table}_as_known_on(last_day(date '${month}'), seen_by := '${seenBy}') as known
       inner join ${table} as today using (event_key)
       where known.is_primary and known.${at} = today.${at} and known.month_start_on <= date '${month}'`,
       ).join(' union all ')}
     )
     select concat_ws(' ', organization_id, month_start_on,
       ${FACTS.map(([table]) => `count(*) filter (fact = '${table}')`).join(', ')}) as counts
     from facts group by organization_id, month_start_on order by 1`,
  )
  return rows.map(({ counts }) => counts)
}

function titleOf(rung: number, writing: number): string {
  return RUNGS[rung]?.[writing] ?? ''
}

function instant(day: number): string {
  return new Date(FIRST_DAY + day * DAY).toISOString()
}
