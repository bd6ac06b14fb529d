/** Draws the most frequent moves: origins on the left, destinations on the right, as thick as they are frequent. */

import * as Plot from '@observablehq/plot'
import { sum } from '../support/numbers.ts'
import { picture } from './charts.ts'
import { shown, type Html } from './html.ts'
import type { Flow } from './read-report.ts'

const DRAWN_FLOWS = 14
const NODE_WIDTH = 8
const LEAST_GAP = 10
const TOP = 24

/** An organisation on one side: how many moves of those drawn, and from where to where it stands, from above. */
interface End {
  readonly label: string
  readonly moves: number
  readonly top: number
  readonly bottom: number
}

interface Link {
  readonly y1: number
  readonly y2: number
  readonly thickness: number
  readonly colour: string
}

/** The picture of the first flows. */
export function flowsChart(flows: readonly Flow[]): Html {
  const drawn = flows.slice(0, DRAWN_FLOWS)
  const says = `The ${drawn.length} most frequent moves between organisations; the table below has the figures.`
  return picture(says, (width, isNarrow) => {
    const margin = isNarrow ? 104 : 260
    const inner = { left: margin, right: width - margin }
    const { height, from, to, links } = layOut(drawn, isNarrow ? 30 : 34)
    const label = ({ label: text, moves }: End) => `${cut(text, isNarrow ? 12 : 34)}  ${moves}`
    const middle = ({ top, bottom }: End) => (top + bottom) / 2
    const text = { fill: 'var(--text)', fontSize: 13 }
    const head = { y: 8, fill: 'var(--muted)', fontSize: 13, fontWeight: 600 }
    const node = { y1: 'top', y2: 'bottom', fill: 'var(--text)' }
    return {
      height: height + TOP + 4,
      margin: 0,
      x: { type: 'identity', axis: null },
      y: { type: 'identity', axis: null },
      marks: [
        Plot.link(links, {
          x1: inner.left + NODE_WIDTH,
          x2: inner.right - NODE_WIDTH,
          y1: 'y1',
          y2: 'y2',
          curve: 'bump-x',
          stroke: 'colour',
          strokeOpacity: 0.4,
          strokeWidth: 'thickness',
          strokeLinecap: 'butt',
        }),
        Plot.rect(from, { ...node, x1: inner.left, x2: inner.left + NODE_WIDTH }),
        Plot.rect(to, { ...node, x1: inner.right - NODE_WIDTH, x2: inner.right }),
        Plot.text(from, { ...text, x: inner.left - 8, y: middle, text: label, textAnchor: 'end' }),
        Plot.text(to, { ...text, x: inner.right + 8, y: middle, text: label, textAnchor: 'start' }),
        Plot.text(['Left'], { ...head, x: inner.left - 8, text: String, textAnchor: 'end' }),
        Plot.text(['Joined'], { ...head, x: inner.right + 8, text: String, textAnchor: 'start' }),
      ],
    }
  })
}

function layOut(flows: readonly Flow[], heightOfEnd: number) {
  const left = movesOf(flows, 'from')
  const right = movesOf(flows, 'to')
  const most = Math.max(left.size, right.size)
  const height = Math.max(160, most * heightOfEnd)
  const total = sum(flows.map(({ moves }) => moves))
  const scale = (height - most * LEAST_GAP) / total
  const from = placed(left, scale, height)
  const to = placed(right, scale, height)
  // How far each end is taken up by the flows before, from its top.
  const taken = new Map<End, number>()
  const middle = (end: End | undefined, thickness: number) => {
    if (end === undefined) return 0
    const before = taken.get(end) ?? 0
    taken.set(end, before + thickness)
    return end.top + before + thickness / 2
  }
  const links = flows.map((flow): Link => {
    const thickness = flow.moves * scale
    return {
      y1: middle(from.get(flow.from_organization_id), thickness),
      y2: middle(to.get(flow.to_organization_id), thickness),
      thickness: Math.max(1, thickness),
      colour: flow.moves_in_window > 0 ? 'var(--joined)' : 'var(--muted)',
    }
  })
  return { height, from: [...from.values()], to: [...to.values()], links }
}

function movesOf(flows: readonly Flow[], side: 'from' | 'to') {
  const found = new Map<string, { readonly label: string; readonly moves: number }>()
  for (const flow of flows) {
    const id = flow[`${side}_organization_id`]
    const moves = (found.get(id)?.moves ?? 0) + flow.moves
    found.set(id, { label: flow[`${side}_organization`], moves })
  }
  return found
}

function placed(
  found: ReturnType<typeof movesOf>,
  scale: number,
  height: number,
): ReadonlyMap<string, End> {
  const used = sum([...found.values()].map(({ moves }) => moves * scale))
  const gap = (height - used) / found.size
  let top = TOP + gap / 2
  const ends = new Map<string, End>()
  for (const [id, one] of found) {
    const bottom = top + one.moves * scale
    ends.set(id, { ...one, top, bottom })
    top = bottom + gap
  }
  return ends
}

function cut(text: string, most: number): string {
  const letters = Array.from(shown(text) ?? '–')
  return letters.length <= most ? letters.join('') : `${letters.slice(0, most - 1).join('')}…`
}
