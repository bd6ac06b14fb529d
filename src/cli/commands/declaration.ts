/** The declaration of a command. */

import type { ExitCode } from '../../support/errors.ts'
import type { OptionDeclaration } from '../options.ts'

export interface Declaration {
  readonly name: string
  readonly about: string
  /** As commander writes them: `<required>`, `[optional]`, `[several...]`; description; default value. */
  readonly arguments?: readonly (readonly [name: string, about: string, standard?: string])[]
  readonly options?: readonly OptionDeclaration[]
  /** The function, imported only for this command. It takes the context, the arguments and finally the options. */
  readonly import: () => Promise<(...given: never[]) => Promise<ExitCode>>
}

/** Marks an argument that names a pipeline. */
export const PIPELINE = 'name below pipelines/, or a path'

/** The most rows that a command shows. */
export const MOST_SHOWN = 10_000
