/** Faults that change what a page says; the answer travels as it should. */

import type { Strike } from './faults.ts'
import type { EventSource, JobChangeEvent } from './events.ts'
import { CREDITS_PER_PAGE, pageBody, pageBodyOf } from './page.ts'
import type { FoundPage } from './search.ts'
import type { SearchRequest } from './search-request.ts'

/** A page as it will be sent. */
export interface RenderedPage {
  readonly body: Buffer
  readonly events: number
  /** What the body says was charged. */
  readonly creditsUsed: number
}

/** Renders the page that `request` asks for, changed by the fault that struck, if it is one about pages. */
export function renderPage(
  source: EventSource,
  request: SearchRequest,
  find: (page: number) => FoundPage,
  strike: Strike | undefined,
): RenderedPage {
  const action = strike?.action
  const isEmpty = action === 'empty_with_has_more'
  const found = find(action === 'same_page_forever' ? 1 : request.page)
  const events = isEmpty ? new Uint32Array() : found.events
  const creditsUsed = events.length > 0 ? CREDITS_PER_PAGE : 0
  const envelope = {
    page: action === 'stuck_page_number' ? 1 : request.page,
    limit: request.limit,
    hasMore:
      found.hasMore || isEmpty || action === 'has_more_forever' || action === 'same_page_forever',
    creditsUsed,
  }
  const changed = strike && changedEvents(source, events, request.page, find, strike)
  if (changed === undefined) {
    return { body: pageBody(source, events, envelope), events: events.length, creditsUsed }
  }
  return { body: pageBodyOf(changed, envelope), events: changed.length, creditsUsed }
}

function changedEvents(
  source: EventSource,
  numbers: Uint32Array,
  page: number,
  find: (page: number) => FoundPage,
  { fault, action }: Strike,
): JobChangeEvent[] | undefined {
  const events = () => Array.from(numbers, (number) => source.eventAt(number))
  const path = fault.extra_field ?? fault.missing_field ?? fault.wrong_type
  if (path !== undefined) {
    return events().map((event, position) => {
      if (fault.event === 'all' || fault.event === position) changeField(event, path, action)
      return event
    })
  }
  if (action !== 'duplicate') return undefined
  const before = page > 1 ? find(page - 1).events.at(-1) : numbers[0]
  return before === undefined ? events() : [source.eventAt(before), ...events()]
}

function changeField(event: object, path: string, action: Strike['action']): void {
  const parts = path.split('.')
  const name = parts.pop() ?? path
  let holder = event as Record<string, unknown>
  for (const part of parts) {
    const inner = holder[part]
    if (inner === null || typeof inner !== 'object') return
    holder = inner as Record<string, unknown>
  }
  if (action === 'missing_field') delete holder[name]
  else if (action === 'extra_field') holder[name] = 'a field that was not there before'
  else holder[name] = typeof holder[name] === 'number' ? 'not a number' : 42
}
