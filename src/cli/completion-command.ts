/** `completion`: a script by which a shell completes commands, options and their values, from how commands are declared. */

import { computedModels } from '../model/computed-models.ts'
import { readModelFiles } from '../warehouse/catalog.ts'
import { ConfigError, EXIT, type ExitCode } from '../support/errors.ts'
import type { Context } from './context.ts'
import { COMMON_OPTIONS, PIPELINE, type Declaration, type OptionDeclaration } from './options.ts'
import { recipeNames } from './recipes.ts'

const SHELLS: readonly string[] = ['bash', 'zsh', 'fish']

/** The command for these commands: it prints the script, whose first line says how to use it. */
export function completionOf(commands: readonly Declaration[]) {
  /** @throws ConfigError for another shell */
  return async ({ output, stop }: Context, shell: string): Promise<ExitCode> => {
    if (!SHELLS.includes(shell)) {
      throw new ConfigError(`there is no completion for ${shell}`, {
        hint: `Name one of: ${SHELLS.join(', ')}`,
      })
    }
    const script = shell === 'fish' ? fishScript(commands) : bashScript(commands, shell === 'zsh')
    await output.stream(script, stop)
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

function fishScript(commands: readonly Declaration[]): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "\\'")}'`
  const lines = commands.flatMap((command) => [
    `complete -c jobtide -n __fish_use_subcommand -f -a ${command.name} -d ${quoted(command.about)}`,
    ...fishWords(command, commands),
    ...optionsOf(command).map((option) => {
      const takes = !option[0].includes(' ') ? '' : valuesOf(option).length === 0 ? ' -r' : ' -x'
      const values = valuesOf(option).length === 0 ? '' : ` -a '${valuesOf(option).join(' ')}'`
      return `complete -c jobtide -n '__fish_seen_subcommand_from ${command.name}' -l ${nameOf(option).slice(2)}${takes}${values} -d ${quoted(option[1])}`
    }),
  ])
  return ['# jobtide completion fish | source', ...lines, ''].join('\n')
}

function fishWords(command: Declaration, commands: readonly Declaration[]): string[] {
  const { words, hasPipelines } = wordsOf(command, commands)
  const all = [...words, ...(hasPipelines ? [`(${PIPELINES.slice(2, -1)})`] : [])]
  const seen = `complete -c jobtide -n '__fish_seen_subcommand_from ${command.name}'`
  return all.length === 0 ? [] : [`${seen} -a "${all.join(' ').replaceAll('$', String.raw`\$`)}"`]
}
