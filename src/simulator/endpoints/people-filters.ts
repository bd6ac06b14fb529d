/** What the filters of a people search take. How the service answers is not documented: a list for each filter is made up. */

import type { ServedEndpoint } from './endpoint.ts'

const FILTERS = {
  seniority: ['CXO', 'Vice President', 'Director', 'Manager', 'Senior', 'Entry'],
  function: ['Engineering', 'Marketing', 'Sales', 'Finance', 'Operations', 'Product Management'],
  company_type: ['Public', 'Private', 'Non Profit', 'Educational', 'Government'],
}

export const peopleFilters: ServedEndpoint = {
  path: '/api/v1/people-search/filters',
  method: 'GET',
  answer: () => ({ items: 0, credits: 0, body: { success: true, filters: FILTERS } }),
}
