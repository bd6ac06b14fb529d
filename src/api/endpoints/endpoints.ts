/** The endpoints that `kind: collect` can ask, by name. */

import { companyProfile } from './company-profile.ts'
import type { Endpoint } from './endpoint.ts'

export const ENDPOINTS: ReadonlyMap<string, Endpoint> = new Map(
  [companyProfile].map((endpoint) => [endpoint.name, endpoint]),
)
