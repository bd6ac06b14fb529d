/** Tables and columns that were renamed since an earlier version, with their replacements. Pure. */

/** The removed tables, and their replacements. */
const TABLES: Readonly<Record<string, string>> = {
  data_cutoffs: 'organizations (columns lag_days_p90 and cutoff_on)',
  organization_observation: 'organizations (columns observed_from_on and observed_until_on)',
  promotion_velocity: 'promotion_waits (rows of each to_level, columns months_of_promoted_…)',
}

/** The removed columns, and their replacements. */
const COLUMNS: Readonly<Record<string, string>> = {
  is_future: 'was_announced',
  future_events: 'announced_events',
}

/** Columns of organizations whose names end in `_ever` now; other tables have columns of these names. */
const EVER = ['joiners', 'leavers', 'promotions', 'boomerangs', 'transfers_in', 'transfers_out']

const NO_TABLE =
  /\btable with name "?(\w+)"? does not exist|\btable function with name "?(\w+)_as_known_on"?/i
const NO_COLUMN =
  /\breferenced column "(\w+)" (?:not found|was not found)|\bdoes not have a column named "(\w+)"/i

/** The correction of a refused statement, in one sentence; null if it names nothing that was renamed. */
export function renamedHint(message: string, sql: string): string | null {
  const [, table = '', known = ''] = NO_TABLE.exec(message) ?? []
  const instead = TABLES[(table || known).toLowerCase()]
  if (instead !== undefined) return `${table || known} is now ${instead}.`
  const [, plain = '', qualified = ''] = NO_COLUMN.exec(message) ?? []
  const column = (plain || qualified).toLowerCase()
  const isEver = EVER.includes(column) && /\borganizations\b/i.test(sql)
  const now = isEver ? `${column}_ever (in organizations)` : COLUMNS[column]
  return now === undefined ? null : `The column ${column} is now ${now}.`
}

/** The names of removed tables, for a test that no table has one of them again. */
export const RENAMED_TABLES: ReadonlySet<string> = new Set(Object.keys(TABLES))
