/** Formats figures and dates for a report. */

import { numberText } from '../support/numbers.ts'
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
