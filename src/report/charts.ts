/** The pictures of a report as SVG. Their colours are those of the page, by name, so that they follow light and dark. */

import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'
import { DAY } from '../support/units.ts'
import { Html, html } from './html.ts'
import type { PeopleKnown, Week } from './read-report.ts'
import { monthText, type ReportWindow } from './window.ts'

export type PictureOptions = Plot.PlotOptions

/** A picture drawn twice: for a page as wide as a desk's screen, and for a phone. What it shows is said in words. */
export function picture(
  says: string,
  draw: (width: number, isNarrow: boolean) => PictureOptions,
): Html {
  const at = (width: number, isNarrow: boolean) => svg(says, { width, ...draw(width, isNarrow) })
  return html`<div class="wide">${at(1000, false)}</div>
    <div class="narrow">${at(360, true)}</div>`
}

function svg(says: string, options: PictureOptions): Html {
  const { document } = parseHTML('<!doctype html><html><body></body></html>') as unknown as {
    document: NonNullable<PictureOptions['document']>
  }
  const drawn = Plot.plot({ ...options, document, className: 'plot' }) as unknown as Drawing
  // The page has one style for all of them.
  for (const style of drawn.querySelectorAll('style')) style.remove()
  // What the picture says, it says as one.
  for (const part of drawn.querySelectorAll('[aria-label]')) {
    part.removeAttribute('aria-label')
  }
  drawn.setAttribute('role', 'img')
  drawn.setAttribute('aria-label', says)
  drawn.removeAttribute('font-size')
  return new Html(drawn.outerHTML)
}

interface Drawing {
  readonly outerHTML: string
  setAttribute(name: string, value: string): void
  removeAttribute(name: string): void
  querySelectorAll(selector: string): Iterable<{
    remove(): void
    removeAttribute(name: string): void
  }>
}

/** Joined above the line and left below it, week by week; those of the window stronger than those before. */
export function weeksChart(weeks: readonly Week[], window: ReportWindow): Html {
  const bars = weeks.map((week) => {
    const from = Date.parse(week.week_from_at)
    return {
      ...week,
      x1: new Date(from + DAY * 0.5),
      x2: new Date(from + DAY * 6.5),
      opacity: from + 7 * DAY > window.from ? 1 : 0.45,
    }
  })
  const most = Math.max(5, ...weeks.flatMap(({ joined, went }) => [joined, went]))
  const says = `Joined and left in each of the ${weeks.length} weeks to the end of the window; the table below has the figures.`
  return picture(says, (_, isNarrow) => ({
    height: isNarrow ? 240 : 280,
    marginLeft: 40,
    marginRight: 4,
    marginTop: 8,
    x: { type: 'utc', label: null, ticks: isNarrow ? 4 : 7, tickSize: 0 },
    y: {
      domain: [-most, most],
      label: null,
      ticks: 5,
      tickSize: 0,
      tickFormat: (value: number) => Math.abs(value).toLocaleString('en'),
    },
    marks: [
      Plot.gridY({ stroke: 'var(--line)', strokeOpacity: 1, ticks: 5 }),
      Plot.rectY(bars, {
        x1: 'x1',
        x2: 'x2',
        y: 'joined',
        fill: 'var(--joined)',
        fillOpacity: 'opacity',
        rx: 1.5,
      }),
      Plot.rectY(bars, {
        x1: 'x1',
        x2: 'x2',
        y: ({ went }: Week) => -went,
        fill: 'var(--left)',
        fillOpacity: 'opacity',
        rx: 1.5,
      }),
      Plot.ruleY([0], { stroke: 'var(--text)' }),
    ],
  }))
}

/** How many people are known at one organisation, month by month: between those whose joining was seen and all. */
export function knownChart(months: readonly PeopleKnown[]): Html {
  const most = Math.max(1, ...months.map(({ high }) => high))
  return small(`People known, ${spanText(months)}`, months, {
    y: { domain: [0, most], tickFormat: (value: number) => value.toLocaleString('en') },
    low: 'low',
    high: 'high',
    colour: 'var(--joined)',
  })
}

/** The share of the people known that left in the twelve months before, between two ways to count. @param most of all pictures */
export function attritionChart(months: readonly PeopleKnown[], most: number): Html {
  const rated = months.filter((one) => one.low_attrition !== null && one.high_attrition !== null)
  return small(`Left within twelve months, ${spanText(months)}`, rated, {
    y: { domain: [0, most], tickFormat: (value: number) => `${Math.round(value * 100)} %` },
    low: (one) => Math.min(one.low_attrition ?? 0, one.high_attrition ?? 0),
    high: (one) => Math.max(one.low_attrition ?? 0, one.high_attrition ?? 0),
    colour: 'var(--left)',
    months,
  })
}

interface Small {
  readonly y: Plot.ScaleOptions
  readonly low: keyof PeopleKnown | ((one: PeopleKnown) => number)
  readonly high: keyof PeopleKnown | ((one: PeopleKnown) => number)
  readonly colour: string
  readonly months?: readonly PeopleKnown[]
}

function small(says: string, rows: readonly PeopleKnown[], how: Small): Html {
  const x = ({ month_on: on }: PeopleKnown) => new Date(on)
  const all = how.months ?? rows
  return svg(says, {
    width: 240,
    height: 104,
    marginLeft: 40,
    marginRight: 6,
    marginTop: 8,
    marginBottom: 20,
    x: {
      type: 'utc',
      domain: [all.at(0), all.at(-1)].flatMap((one) => (one === undefined ? [] : [x(one)])),
      label: null,
      ticks: 3,
      tickSize: 0,
    },
    y: { ...how.y, label: null, ticks: 2, tickSize: 0 },
    marks: [
      Plot.gridY({ stroke: 'var(--line)', strokeOpacity: 1, ticks: 2 }),
      Plot.areaY(rows, { x, y1: how.low, y2: how.high, fill: how.colour, fillOpacity: 0.25 }),
      Plot.lineY(rows, { x, y: how.low, stroke: how.colour, strokeWidth: 1.25 }),
      Plot.lineY(rows, { x, y: how.high, stroke: how.colour, strokeWidth: 1.25 }),
    ],
  })
}

function spanText(months: readonly PeopleKnown[]): string {
  const [first] = months
  const last = months.at(-1)
  if (first === undefined || last === undefined) return ''
  return `${monthText(Date.parse(first.month_on))} to ${monthText(Date.parse(last.month_on))}`
}
