/** The list of recipes in docs/recipes.md, made of their heads. */

import { readRecipe, recipeNames, type Recipe } from '../../src/cli/query-command.ts'
import { wrapped } from './tables-page.ts'

/** A parameter of this many recipes is explained once, above them. */
const SHARED_BY = 2

export function recipesList(): string {
  const recipes = recipeNames().map((name) => readRecipe(name))
  const lines = recipes.flatMap(({ parameters }) => parameters.map(lineOf))
  const isShared = (line: string) => lines.filter((one) => one === line).length >= SHARED_BY
  const shared = [...new Set(lines.filter(isShared))]
  const entries = recipes.map(({ name, question, parameters }) => {
    const common = parameters.filter((one) => isShared(lineOf(one)))
    const named = common.map((one) => `\`${one.name}\``).join(', ')
    const own = parameters.map(lineOf).filter((line) => !isShared(line))
    const all = [...(named === '' ? [] : [named]), ...own.map((line) => line.slice('- '.length))]
    return wrapped(
      `- **\`${name}\`**: ${question}${all.length === 0 ? '' : ` (${all.join('; ')})`}`,
      '  ',
    )
  })
  return `Parameters of several recipes:\n\n${shared.join('\n')}\n\nAll recipes:\n\n${entries.join('\n')}\n`
}

function lineOf({ name, standard, about }: Recipe['parameters'][number]): string {
  return `- \`${name}${standard === null ? '' : `=${standard}`}\`: ${about}`
}
