import { describe, expect, it } from 'vitest'
import { readModelFiles } from '../../src/warehouse/catalog.ts'

// What DuckDB runs and Spark 4 does not, or not in the same way; and what makes a table depend on when it was built.
const notAllowed = [
  /::/,
  /\/\//,
  /\bqualify\b/,
  /\basof\b/,
  /\b(?:group|order) by all\b/,
  /\*\s*(?:exclude|replace)\b/,
  /^\s*from\b(?![\s\S]*select)/,
  /\bdate_diff\b|\bdatediff\b|\bdate_trunc\b|\bat time zone\b/,
  /\bnow\s*\(|\bcurrent_(?:date|timestamp)\b|\brandom\s*\(/,
  /\b(?:last_seen_at|times_seen|last_run_id|attributes_seen_at)\b/,
  /\bselect \*/,
]

describe('model SQL', () => {
  it.each(readModelFiles().map((model) => [model.name, model.sql] as const))(
    '%s keeps to what DuckDB and Spark both run, and depends on nothing but the events',
    (_, sql) => {
      const statement = sql.replace(/--.*$/gm, '').toLowerCase()
      expect(notAllowed.filter((pattern) => pattern.test(statement))).toEqual([])
    },
  )
})
