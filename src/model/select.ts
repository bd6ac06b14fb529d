/** Which models `build --select` names, in the syntax of dbt: `name`, `+name`, `name+`, `+name+`, `path:models`, `tier:detail`. Pure. */

import { ConfigError } from '../support/errors.ts'
import { didYouMean } from '../support/nearest.ts'
import type { ProjectNode } from './project.ts'

type Node = Pick<ProjectNode, 'name' | 'reads' | 'file' | 'schema'>

/** Those of `names` and all models that read one of them, directly or by others. @param nodes in run order */
export function withReaders(nodes: readonly Node[], names: Iterable<string>): Set<string> {
  const found = new Set(names)
  for (const { name, reads } of nodes) if (reads.some((read) => found.has(read))) found.add(name)
  return found
}

/**
 * The names of the models that are selected.
 * @param nodes in run order
 * @param words each one or several selectors, with a blank or a comma between them: all that one of them names
 * @throws ConfigError for a selector that names no model, with what may be meant
 */
export function selectModels(
  nodes: readonly Node[],
  words: readonly string[],
): ReadonlySet<string> {
  const selectors = words.flatMap((word) => word.split(/[\s,]+/)).filter(Boolean)
  const selected = new Set<string>()
  for (const selector of selectors) {
    const [, above = '', method = '', value = '', below = ''] =
      /^(\+?)(?:(path|tier):)?(.*?)(\+?)$/.exec(selector) ?? []
    const isNamed = {
      '': ({ name }: Node) => name === value.toLowerCase(),
      path: ({ file }: Node) => `${file}/`.startsWith(`${value.replace(/\/$/, '')}/`),
      tier: ({ schema }: Node) => schema === value,
    }[method]
    const named = nodes.filter((node) => isNamed?.(node)).map(({ name }) => name)
    if (named.length === 0) throw unknownSelector(selector, value, nodes)
    for (const name of below === '' ? named : withReaders(nodes, named)) selected.add(name)
    if (above !== '') for (const name of readBy(nodes, named)) selected.add(name)
  }
  if (selected.size > 0) return selected
  throw new ConfigError('--select names no model', {
    hint: 'Name some: jobtide build --select my_model+',
  })
}

function unknownSelector(selector: string, value: string, nodes: readonly Node[]): ConfigError {
  const names = nodes.map(({ name }) => name)
  return new ConfigError(`there is no model ${selector}`, {
    hint: `${didYouMean(value, names)}Say name, +name (with what it reads), name+ (with what reads it), path:models or tier:detail; \`jobtide models\` lists the names. Nothing was built.`,
  })
}

/** Those of `names` and all models that they read, directly or by others. */
function readBy(nodes: readonly Node[], names: readonly string[]): Set<string> {
  const found = new Set(names)
  for (const { name, reads } of nodes.toReversed()) {
    if (found.has(name)) for (const read of reads) found.add(read)
  }
  return new Set(nodes.flatMap(({ name }) => (found.has(name) ? name : [])))
}
