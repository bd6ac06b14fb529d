/** Whose SQL the engine refuses in a build. */

import { namingFile } from './own/files.ts'
import type { ProjectNode } from './project.ts'
import { withReaders } from './select.ts'

/** Says which model the engine refuses; of one of the user's own the file and line, and which models wait for it. */
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
