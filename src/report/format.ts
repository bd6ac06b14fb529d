/** Figures and dates as a report shows them. */

import { minuteText } from './window.ts'

export function instant(at: string | null | undefined): string {
  return at === null || at === undefined ? 'never' : minuteText(Date.parse(at))
}

export function number(value: number): string {
  return value.toLocaleString('en')
}

export function signed(value: number): string {
  return value > 0 ? `+${number(value)}` : value < 0 ? `−${number(-value)}` : '0'
}

export function percent(rate: number): number {
  return Math.round(rate * 100)
}

export function range(low: number, high: number): string {
  return low === high ? number(low) : `${number(low)}–${number(high)}`
}

export function credits(value: number): string {
  return `${value.toLocaleString('en', { maximumFractionDigits: 0 })} credits`
}

export function count(value: number, noun: string): string {
  return `${number(value)} ${noun}${value === 1 ? '' : 's'}`
}
