/** `completion`: a script by which a shell completes commands, options and their values, from how commands are declared. */

import { computedModels } from '../model/computed-models.ts'
import { readModelFiles } from '../warehouse/catalog.ts'
import { ConfigError, EXIT, type ExitCode } from '../support/errors.ts'
import type { Context } from './context.ts'
import { COMMON_OPTIONS, PIPELINE, type Declaration, type OptionDeclaration } from './options.ts'
import { recipeNames } from './recipes.ts'

const SHELLS: readonly string[] = ['bash', 'zsh']

/** The command for these commands: it prints the script, whose first line says how to use it. */
export function completionOf(commands: readonly Declaration[]) {
  /** @throws ConfigError for another shell */
  return async ({ output, stop }: Context, shell: string): Promise<ExitCode> => {
    if (!SHELLS.includes(shell)) {
      throw new ConfigError(`there is no completion for ${shell}`, {
        hint: `Name one of: ${SHELLS.join(', ')}`,
      })
    }
    await output.stream(bashScript(commands, shell === 'zsh'), stop)
    return EXIT.done
  }
}

function optionsOf({ options = [] }: Declaration): OptionDeclaration[] {
  return [...options, ...COMMON_OPTIONS, ['--help', 'what it does and takes']]
}

function nameOf([flags]: OptionDeclaration): string {
  return flags.split(' ', 1)[0] ?? ''
}

function valuesOf([flags, , values]: OptionDeclaration): readonly string[] {
  if (flags.startsWith('--recipe ')) return recipeNames()
  return Array.isArray(values) ? (values as readonly string[]) : []
}

/**
 * The words that complete an argument. Pipelines are listed from the folder when Tab is pressed; the shell completes paths.
 */
function wordsOf({ arguments: given = [] }: Declaration, commands: readonly Declaration[]) {
  const [name = '', about = ''] = given[0] ?? []
  if (about.startsWith(PIPELINE)) return { words: [], hasPipelines: true }
  const words: Readonly<Record<string, () => readonly string[]>> = {
    '[table]': tableNames,
    '[table...]': tableNames,
    '[command]': () => commands.map((one) => one.name),
    '<shell>': () => SHELLS,
    '<what>': () => about.split(/, | or /),
    '<type>': () => about.split(/, | or /),
  }
  return { words: words[name]?.() ?? [], hasPipelines: false }
}

function tableNames(): readonly string[] {
  return [...readModelFiles(), ...computedModels].map((one) => one.name)
}

const PIPELINES = `$(ls pipelines 2>/dev/null | sed -n 's/[.]yaml$//p')`

function bashScript(commands: readonly Declaration[], isZsh: boolean): string {
  const values = commands.flatMap((command) =>
    optionsOf(command)
      .filter((option) => valuesOf(option).length > 0)
      .map((one) => `    '${command.name} ${nameOf(one)}') words='${valuesOf(one).join(' ')}' ;;`),
  )
  const options = commands.map((command) => {
    const { words, hasPipelines } = wordsOf(command, commands)
    const all = [...words, ...optionsOf(command).map(nameOf)].join(' ')
    return `    '${command.name} '*) words='${all}'${hasPipelines ? `" ${PIPELINES}"` : ''} ;;`
  })
  return [
    `# eval "$(jobtide completion ${isZsh ? 'zsh' : 'bash'})"`,
    ...(isZsh ? ['autoload -U +X compinit bashcompinit && compinit && bashcompinit'] : []),
    '_jobtide() {',
    '  local cur=${COMP_WORDS[COMP_CWORD]} words=',
    `  if [ "$COMP_CWORD" = 1 ]; then words='${commands.map(({ name }) => name).join(' ')}'; else`,
    '  case "${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}" in',
    ...values,
    ...options,
    '  esac; fi',
    '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
    '}',
    'complete -o default -o bashdefault -F _jobtide jobtide',
    '',
  ].join('\n')
}
