/** Creates a signal: the service watches people, and delivers their reactions, comments and replies to a webhook. */

import { z } from 'zod'
import { ONE_THING, exactly, listOf, reading, type Endpoint } from './endpoint.ts'

const PROFILE_CREDITS = 1

const url = z.url({ protocol: /^https?$/, error: 'expected an address' })

const schema = z.looseObject({ message: z.looseObject({ signal_id: z.string().min(1) }) })

// Not `new_signal`: if an answer is lost, the repeated request would create a second signal. Name another one by
// signal_id.
export const signalCreate: Endpoint = {
  name: 'signal-create',
  path: '/api/v1/signal/create',
  subject: 'profile_urls',
  request: z.strictObject({
    signal_type: z.literal('person_activity').default('person_activity'),
    profile_urls: listOf(url, 'expected addresses of profiles'),
    activity_types: z.array(z.enum(['reactions', 'comments'])).optional(),
    name: z.string().min(1).optional(),
    signal_id: z.string().min(1).optional(),
    frequency: z.enum(['every_hour', 'every_2hr', 'every_day', 'every_week']).optional(),
    additional_emails: z.array(z.email()).optional(),
    webhook_url: url.optional(),
  }),
  secret: 'webhook_secret',
  pages: null,

  // A profile that is already watched is not added.
  price: ({ profile_urls: profiles }) => ({
    least: 0,
    most: PROFILE_CREDITS * (Array.isArray(profiles) ? profiles.length : 1),
  }),

  read: reading(
    {
      schema,
      isChargeUnsaid: true,
      absent: exactly(0),
      otherwise: 'it has no signal_id in message',
    },
    (_, { request }) => ({ ...ONE_THING, price: signalCreate.price(request) }),
  ),
}
