/** Formats figures and dates for a report. */

import { numberText } from '../support/numbers.ts'
import type { ChangeKind } from './read-report.ts'
import { momentText } from './window.ts'

export function instant(at: string | null | undefined): string {
  return at === null || at === undefined ? 'never' : momentText(Date.parse(at))
}

export function signed(value: number): string {
  return value > 0 ? `+${numberText(value)}` : value < 0 ? `−${numberText(-value)}` : '0'
}

/** `0.213` → `21 %`; below 10 % with one more digit. */
export function percentText(rate: number): string {
  return `${percentOf(rate)} %`
}

/** `18–26 %`; `from 18 %` where the upper end is not known. */
export function rangeText(low: number, high: number | null): string {
  if (high === null) return `from ${percentText(low)}`
  const [from, to] = [percentOf(low), percentOf(high)]
  return from === to ? `${from} %` : `${from}–${to} %`
}

function percentOf(rate: number): string {
  return (rate * 100).toLocaleString('en', { maximumFractionDigits: rate < 0.0995 ? 1 : 0 })
}

export function credits(value: number): string {
  return `${value.toLocaleString('en', { maximumFractionDigits: 0 })} credits`
}

/** Each kind of change in a sentence: `3 promoted`. */
export const WORDS: Readonly<Record<ChangeKind, string>> = {
  joined: 'joined',
  left: 'left',
  rose: 'promoted',
}

/** The transfers that figures leave out, in one sentence; null where there is none. */
export function transfersText(
  counts: readonly { readonly change: ChangeKind; readonly transfers: number }[],
): string | null {
  const of = (kind: ChangeKind) => counts.find(({ change }) => change === kind)?.transfers ?? 0
  const [came, went] = [of('joined'), of('left')]
  return came + went === 0
    ? null
    : `${numberText(came)} joined and ${numberText(went)} left by a transfer, such as an acquisition: not counted`
}
