/** The list of recipes in docs/recipes.md, made of their heads. */

import { readRecipe, recipeNames } from '../../src/cli/recipes.ts'
import { wrapped } from './tables-page.ts'

export function recipesList(): string {
  const entries = recipeNames().map((name) => {
    const { question, parameters } = readRecipe(name)
    const lines = parameters.map(({ name: parameter, standard, about }) => {
      return `- \`${parameter}\`: ${about}${standard === null ? '' : `; else \`${standard}\``}`
    })
    const indented = lines.map((line) => `  ${wrapped(line, '    ')}`)
    return [wrapped(`- **\`${name}\`**: ${question}`, '  '), ...indented].join('\n')
  })
  return `${entries.join('\n')}\n`
}
