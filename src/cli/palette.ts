/** Colours of a terminal, each for one meaning. Pure. */

import { styleText } from 'node:util'

export type Meaning = 'error' | 'warning' | 'ok' | 'dim'
/** Colours a text, or leaves it as it is where there are no colours. */
export type Paint = (meaning: Meaning, text: string) => string

const FORMATS = { error: 'red', warning: 'yellow', ok: 'green', dim: 'dim' } as const

export const plain: Paint = (_, text) => text

/** Whether there are colours is decided before: Node would look at a stream of its own. */
export const coloured: Paint = (meaning, text) =>
  styleText(FORMATS[meaning], text, { validateStream: false })

/** What the state of a run or of a check means; undefined where it means neither good nor bad. */
export function meaningOf(state: string): Meaning | undefined {
  return STATES.get(state)
}

const STATES: ReadonlyMap<string, Meaning> = new Map([
  ...['done', 'ok'].map((state) => [state, 'ok'] as const),
  ...['budget', 'interrupted', 'warning'].map((state) => [state, 'warning'] as const),
  ...['failed', 'killed', 'problem', 'refused', 'unavailable'].map(
    (one) => [one, 'error'] as const,
  ),
])
