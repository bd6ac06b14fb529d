/** Draws the charts of a report as SVG. They use the page's named colours, so that they follow light and dark mode. */

import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'
import { DAY } from '../support/units.ts'
import { Html, html, percentText, shown } from './html.ts'
import type { Flow, TrendMonth, Week } from './rows.ts'
import { monthText, type ReportWindow } from './window.ts'

type PictureOptions = Plot.PlotOptions

/** A picture drawn twice, for a wide screen and for a phone, with a description in words. */
function picture(says: string, draw: (width: number, isNarrow: boolean) => PictureOptions): Html {
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
  // Screen readers announce the picture as one.
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

/** Joiners above the line and leavers below it, by week; the weeks of the window are darker. */
export function weeksChart(weeks: readonly Week[], window: ReportWindow): Html {
  const bars = weeks.map((week) => {
    const from = Date.parse(week.week_from_at)
    const opacity = from + 7 * DAY > window.from ? 1 : 0.45
    return { ...week, x1: new Date(from + DAY * 0.5), x2: new Date(from + DAY * 6.5), opacity }
  })
  const { y, marks } = upAndDown(bars, 5)
  const says = `Joined and left in each of the ${weeks.length} weeks to the end of the period; the table below has the figures.`
  return picture(says, (_, isNarrow) => ({
    height: isNarrow ? 240 : 280,
    marginLeft: 40,
    marginRight: 4,
    marginTop: 8,
    x: { type: 'utc', label: null, ticks: isNarrow ? 4 : 7, tickSize: 0 },
    y: { ...y, label: null, ticks: 5, tickSize: 0 },
    marks: [Plot.gridY({ stroke: 'var(--line)', strokeOpacity: 1, ticks: 5 }), ...marks],
  }))
}

/** Joiners above the line and leavers below it, by month, while there is no rate. */
export function changesChart(months: readonly TrendMonth[]): Html {
  const bars = months.map((month) => {
    const from = monthOf(month).getTime()
    return { ...month, x1: new Date(from + DAY * 3), x2: new Date(from + DAY * 27), opacity: 1 }
  })
  return small(`Joined and left, ${spanText(months)}`, months, upAndDown(bars, 1))
}

interface Bar extends Pick<Week, 'joined' | 'went'> {
  readonly x1: Date
  readonly x2: Date
  readonly opacity: number
}

/** Bars on a scale around 0 whose figures have no sign. @param least of either side */
function upAndDown(bars: readonly Bar[], least: number): Drawn {
  const most = Math.max(least, ...bars.flatMap(({ joined, went }) => [joined, went]))
  const bar = (y: (one: Bar) => number, fill: string) =>
    Plot.rectY(bars, { x1: 'x1', x2: 'x2', y, fill, fillOpacity: 'opacity', rx: 1.5 })
  const tickFormat = (value: number) => Math.abs(value).toLocaleString('en')
  return {
    y: { domain: [-most, most], tickFormat },
    marks: [
      bar(({ joined }) => joined, 'var(--joined)'),
      bar(({ went }) => -went, 'var(--left)'),
      Plot.ruleY([0], { stroke: 'var(--text)' }),
    ],
  }
}

/** The share that left in the twelve months to each month, with its bounds. @param most the top of all such pictures */
export function attritionChart(months: readonly TrendMonth[], most: number): Html {
  const rated = months.filter(({ rate }) => rate !== null)
  const y2 = ({ rate_high: high }: TrendMonth) => Math.min(most, high ?? most)
  const isCut = ({ rate_high: high }: TrendMonth) => high === null || high > most
  const top = ({ rate_high: high }: TrendMonth) => (high === null ? '↑' : `↑ ${percentText(high)}`)
  return small(
    `Left within twelve months, ${spanText(rated)}`,
    months,
    {
      y: { domain: [0, most], tickFormat: (value: number) => `${Math.round(value * 100)} %` },
      marks: [
        ...line(rated, 'rate', 'var(--left)', { y1: 'rate_low', y2, fillOpacity: 0.18 }),
        Plot.text(rated.filter(isCut).slice(-1), {
          x: monthOf,
          y: most,
          text: top,
          lineAnchor: 'bottom',
          textAnchor: 'end',
          dx: 5,
          dy: -3,
          fill: 'var(--text)',
        }),
      ],
    },
    LABEL,
  )
}

/** The room above an attrition chart for the top of a range that does not fit. */
const LABEL = 12

/** The headcount of an organisation by month. */
export function headcountChart(months: readonly TrendMonth[]): Html {
  const most = Math.max(1, ...months.map(({ headcount }) => headcount))
  return small(`Headcount, ${spanText(months)}`, months, {
    y: { domain: [0, most], tickFormat: (value: number) => value.toLocaleString('en') },
    marks: line(months, 'headcount', 'var(--joined)', { y: 'headcount', fillOpacity: 0.12 }),
  })
}

/** A line with an area, and a dot at its end. */
function line(
  months: readonly TrendMonth[],
  y: keyof TrendMonth,
  colour: string,
  area: Plot.AreaYOptions,
): Plot.Markish[] {
  return [
    Plot.areaY(months, { x: monthOf, fill: colour, ...area }),
    Plot.lineY(months, { x: monthOf, y, stroke: colour, strokeWidth: 1.75 }),
    Plot.dot(months.slice(-1), { x: monthOf, y, fill: colour, r: 2.5 }),
  ]
}

/** The data of a chart, and its scale. */
interface Drawn {
  readonly y: Plot.ScaleOptions
  readonly marks: readonly Plot.Markish[]
}

/** A small chart over all months, even if some have no value. @param above room for a text over it */
function small(says: string, months: readonly TrendMonth[], { y, marks }: Drawn, above = 0): Html {
  const [from, to] = spanOf(months)
  return svg(says, {
    width: 240,
    height: 112 + above,
    marginLeft: 40,
    marginRight: 6,
    marginTop: 8 + above,
    marginBottom: 30,
    x: {
      type: 'utc',
      domain: [new Date(from), new Date(to + 28 * DAY)],
      label: null,
      ticks: 3,
      tickSize: 0,
    },
    y: { ...y, label: null, ticks: 2, tickSize: 0 },
    marks: [Plot.gridY({ stroke: 'var(--line)', strokeOpacity: 1, ticks: 2 }), ...marks],
  })
}

function monthOf({ month_on: on }: TrendMonth): Date {
  return new Date(on)
}

/** The first and the last month, in milliseconds since 1970. */
function spanOf(months: readonly TrendMonth[]): [from: number, to: number] {
  const all = months.map(({ month_on: on }) => Date.parse(on))
  return [Math.min(...all), Math.max(...all)]
}

function spanText(months: readonly TrendMonth[]): string {
  return spanOf(months).map(monthText).join(' to ')
}

const DRAWN_FLOWS = 14
const FLOW_HEIGHT = 36

/** The largest flows: a bar for the moves of each, and over it those of the window. */
export function flowsChart(flows: readonly Flow[]): Html {
  const drawn = flows.slice(0, DRAWN_FLOWS)
  const says = `The ${drawn.length} most frequent moves between organisations; the table below has the figures.`
  return picture(says, (_, isNarrow) => {
    const most = isNarrow ? 18 : 50
    const y = (_flow: Flow, place: number) => place
    const bar = { y, insetTop: 20, insetBottom: 4, rx: 1.5 }
    const text = ({ from_organization: from, to_organization: to, moves }: Flow) =>
      `${cut(from, most)} → ${cut(to, most)}: ${moves}`
    return {
      height: drawn.length * FLOW_HEIGHT,
      margin: 0,
      x: { axis: null },
      y: { type: 'band', axis: null, padding: 0 },
      marks: [
        Plot.barX(drawn, { ...bar, x: 'moves', fill: 'var(--muted)', fillOpacity: 0.4 }),
        Plot.barX(drawn, { ...bar, x: 'moves_in_window', fill: 'var(--joined)' }),
        Plot.text(drawn, {
          y,
          text,
          frameAnchor: 'left',
          dy: -8,
          fill: 'var(--text)',
          fontSize: 13,
        }),
      ],
    }
  })
}

function cut(text: string, most: number): string {
  const letters = Array.from(shown(text) ?? '–')
  return letters.length <= most ? letters.join('') : `${letters.slice(0, most - 1).join('')}…`
}
