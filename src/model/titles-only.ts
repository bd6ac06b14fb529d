/**
 * The models that the warehouse builds where Spark builds the others: the computed models, and the models that they
 * read. All others are views then: they store nothing, and are computed when read.
 */

import { loadedTables, WATCH_ENTRIES } from '../warehouse/catalog.ts'
import type { Project, ProjectNode } from './project.ts'

/** The names of the models that computed models read, directly or by others. */
export function readByTitles(nodes: readonly ProjectNode[]): ReadonlySet<string> {
  const names = new Set<string>()
  // In run order each comes after those it reads.
  for (const { name, reads, computed } of nodes.toReversed()) {
    if (computed !== null || names.has(name)) for (const read of reads) names.add(read)
  }
  return names
}

/** The project of a build that computes titles only. */
export function titlesOnly(project: Project): Project {
  const needed = readByTitles(project.nodes)
  const isMade = ({ name, computed }: ProjectNode) => computed !== null || needed.has(name)
  const nodes = project.nodes.map((node): ProjectNode =>
    isMade(node) ? node : { ...node, kind: 'view', isByPerson: false },
  )
  const there = new Set([
    ...loadedTables.map(({ name }) => name),
    WATCH_ENTRIES,
    ...nodes.filter(isMade).map(({ name }) => name),
  ])
  const checks = project.checks.filter(({ reads }) => reads.every((name) => there.has(name)))
  return { ...project, nodes, checks, fingerprint: `${project.fingerprint} titles only` }
}
