/** Terminal colours, one for each meaning. Pure. */

import { styleText } from 'node:util'

export type Meaning = 'error' | 'warning' | 'ok' | 'dim'
/** Colours a text, or leaves it as it is where there are no colours. */
export type Paint = (meaning: Meaning, text: string) => string

const FORMATS = { error: 'red', warning: 'yellow', ok: 'green', dim: 'dim' } as const

export const plain: Paint = (_, text) => text

/** The caller decides whether to use colours; Node would check its own stream. */
export const coloured: Paint = (meaning, text) =>
  styleText(FORMATS[meaning], text, { validateStream: false })

/** Whether the state of a run or check is good or bad; undefined if neither. */
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
