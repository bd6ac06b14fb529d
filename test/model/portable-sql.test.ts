/**
 * The models stay SQL that DuckDB and Spark both run. test/spark proves it on Spark itself, and is needed for what no
 * pattern finds: order by a column that can be null (Spark: nulls first, DuckDB: last; also in structs), casting a
 * fraction to an integer (Spark cuts, DuckDB rounds), date - date, division by 0 and ln(0).
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sqlFolder } from '../../src/support/assets.ts'
import { readChecks } from '../../src/model/checks.ts'
import { readModelFiles } from '../../src/warehouse/catalog.ts'

// Spark does not parse `not` after an operator.
const UNBRACED_NOT = /(?:distinct from|[=<>])\s+not\b/

const notAllowed = [
  // Runs on DuckDB but not on Spark 4.
  /::/,
  /\/\//,
  /[[\]{}]/,
  /\d_\d/,
  /\bqualify\b/,
  /\basof\b/,
  /\brecursive\b/,
  /\bdistinct on\b/,
  /\bignore nulls\b/,
  /\bgroups between\b/,
  /\b(?:group|order) by all\b/,
  /\*\s*(?:exclude|replace)\b/,
  /^\s*from\b(?![\s\S]*select)/,
  /\bover \w+\s*-/,
  /\b(?:varchar|text|hugeint|int[248]|timestamptz|double precision)\b/,
  /\b(?:arg_max|arg_min|quantile\w*|epoch\w*|strftime|strptime|strpos|starts_with|isodow|list_\w+|struct_\w+)\b/,
  /\bdate_diff\b|\bdatediff\b|\bdate_trunc\b|\bat time zone\b/,
  UNBRACED_NOT,
  // Runs on both, with different results: null in concat(), days counted from 0 or 1, date + interval as timestamp or
  // date, decimal without size, regular expressions.
  /\bconcat\s*\(/,
  /\b(?:dow|dayofweek|interval)\b/,
  /\bdecimal\b(?!\s*\()/,
  /\bregexp_\w+/,
  // Makes a table depend on the time of the build, or on the order of rows.
  /\bnow\s*\(|\bcurrent_(?:date|timestamp)\b|\brandom\s*\(/,
  /\b(?:last_seen_at|times_seen|last_run_id|attributes_seen_at)\b/,
  /\b(?:any_value|first|last|mode|string_agg|array_agg|list|listagg)\s*\(/,
  /\bselect \*/,
]

describe('model SQL', () => {
  it.each(readModelFiles().map((model) => [model.name, model.sql] as const))(
    '%s keeps to what DuckDB and Spark both run, and depends on nothing but the events',
    (_, sql) => {
      // JSON paths have one spelling.
      const statement = sql
        .replace(/--.*$/gm, '')
        .replace(/'\$[^']*'/g, "''")
        .toLowerCase()
      expect(notAllowed.filter((pattern) => pattern.test(statement))).toEqual([])
    },
  )

  it('of checks has brackets around a `not` after an operator', () => {
    const checks = readChecks(join(sqlFolder, 'checks'))
    expect(checks.length).toBeGreaterThan(50)
    const found = checks.filter(({ sql }) => UNBRACED_NOT.test(sql))
    expect(found.map(({ name }) => name)).toEqual([])
  })

  it('calls macros that have the same name and arguments in Spark', () => {
    const macros = readFileSync(join(sqlFolder, 'macros.sql'), 'utf8')
    const signatures = (definition: RegExp) =>
      [...macros.matchAll(definition)].map(
        ([, name, list = '']) =>
          `${name}(${list.replaceAll(/ (?:timestamp|date|string|int|boolean|array<string>)(?=,|$)/g, '')})`,
      )
    const inDuckDB = signatures(/^create or replace macro (\w+)\((.*?)\)/gm)
    expect(inDuckDB.length).toBeGreaterThan(5)
    expect(signatures(/^-- spark: (\w+)\((.*?)\)/gm)).toEqual(inDuckDB)
  })
})
