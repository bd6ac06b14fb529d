/** The endpoints that `kind: collect` can ask, by name. */

import { companyProfile } from './company-profile.ts'
import { companySearch } from './company-search.ts'
import type { Endpoint } from './endpoint.ts'
import { jobDetails } from './job-details.ts'
import { peopleFilters } from './people-filters.ts'
import { peopleSearch } from './people-search.ts'
import { postDetails } from './post-details.ts'
import { postReposts } from './post-reposts.ts'
import { postSearch } from './post-search.ts'
import { signalCreate } from './signal-create.ts'
import { suggest } from './suggest.ts'

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
