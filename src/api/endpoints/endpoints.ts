/** The endpoints that `kind: collect` can ask, by name. */

import { companyProfile, companySearch } from './companies.ts'
import type { Endpoint } from './endpoint.ts'
import { jobDetails } from './job-details.ts'
import { peopleFilters, peopleSearch, suggest } from './people.ts'
import { postDetails, postReposts, postSearch } from './posts.ts'
import { signalCreate } from './signal-create.ts'

const ALL: readonly Endpoint[] = [
  companyProfile,
  companySearch,
  jobDetails,
  peopleFilters,
  peopleSearch,
  postDetails,
  postReposts,
  postSearch,
  signalCreate,
  suggest,
]

/** Members that hold a person's handle in the answers of any endpoint. */
export const HANDLES: ReadonlySet<string> = new Set(ALL.flatMap(({ handles = [] }) => handles))

export const ENDPOINTS: ReadonlyMap<string, Endpoint> = new Map(
  ALL.map((endpoint) => [endpoint.name, endpoint]),
)
