/** Figures and dates as a report shows them. */

import { numberText } from '../support/numbers.ts'
import { momentText } from './window.ts'

export function instant(at: string | null | undefined): string {
  return at === null || at === undefined ? 'never' : momentText(Date.parse(at))
}

export function signed(value: number): string {
  return value > 0 ? `+${numberText(value)}` : value < 0 ? `−${numberText(-value)}` : '0'
}

export function percent(rate: number): number {
  return Math.round(rate * 100)
}

export function range(low: number, high: number): string {
  return low === high ? numberText(low) : `${numberText(low)}–${numberText(high)}`
}

export function credits(value: number): string {
  return `${value.toLocaleString('en', { maximumFractionDigits: 0 })} credits`
}
