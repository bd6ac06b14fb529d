/** What a command is declared by. */

import type { ExitCode } from '../../support/errors.ts'
import type { OptionDeclaration } from '../options.ts'

export interface Declaration {
  readonly name: string
  readonly about: string
  /** As commander writes them: `<required>`, `[optional]`, `[several...]`; what they are; a value that stands for none. */
  readonly arguments?: readonly (readonly [name: string, about: string, standard?: string])[]
  readonly options?: readonly OptionDeclaration[]
  /** The function, imported only for this command: it takes the context, the arguments, and the options at last. */
  readonly import: () => Promise<(...given: never[]) => Promise<ExitCode>>
}

/** How an argument that names a pipeline is told. */
export const PIPELINE = 'name below pipelines/, or a path'

/** Rows that a command shows at most. */
export const MOST_SHOWN = 10_000
