/** The model whose SQL the engine refuses in a build. */

import { namingFile } from './own/files.ts'
import type { ProjectNode } from './project.ts'
import { withReaders } from './select.ts'

/**
 * Names the model that the engine refuses; for one of the user's own its file and line, and the models that wait for
 * it.
 */
export function namingModel<T>(
  nodes: readonly ProjectNode[],
  { name, file, isOwn }: ProjectNode,
  work: () => Promise<T>,
): Promise<T> {
  const what = `model ${name}`
  if (isOwn !== true) return namingFile(what, { file: undefined }, work)
  const readers = [...withReaders(nodes, [name])].slice(1)
  const hint = readers.length === 0 ? '' : `It is read by ${readers.join(', ')}. `
  return namingFile(what, { file, hint }, work)
}
