/** `completion`: a script by which a shell completes commands, options and their values, from how commands are declared. */

import { computedModels } from '../model/computed-models.ts'
import { ConfigError, EXIT, type ExitCode } from '../support/errors.ts'
import { readModelFiles } from '../warehouse/catalog.ts'
import type { Context } from './context.ts'
import { COMMANDS, optionsOf } from './declarations.ts'
import { choicesOf } from './options.ts'
import { recipeNames } from './query-command.ts'

/** Prints the script, whose first line says how to use it. @throws ConfigError for another shell */
export async function completionCommand(
  { output, stop }: Context,
  shell: string,
): Promise<ExitCode> {
  if (shell !== 'bash' && shell !== 'zsh') {
    throw new ConfigError(`there is no completion for ${shell}`, { hint: 'Name bash or zsh.' })
  }
  await output.stream(scriptFor(shell), stop)
  return EXIT.done
}

// Listed when Tab is pressed. The shell itself completes paths.
const PIPELINES = `$(ls pipelines 2>/dev/null | sed -n 's/[.]yaml$//p')`

function wordsOf(argument: string, about: string): readonly string[] {
  if (argument.includes('table'))
    return [...readModelFiles(), ...computedModels].map(({ name }) => name)
  if (argument === '[command]') {
    return Object.keys(COMMANDS).filter((name) => COMMANDS[name]?.isScript !== true)
  }
  return argument === '<what>' || argument === '<shell>' ? about.split(/, | or |;.*/) : []
}

function scriptFor(shell: 'bash' | 'zsh'): string {
  const cases = Object.entries(COMMANDS).flatMap(([command, declared]) => {
    const options = Object.entries({ ...optionsOf(declared), '--help': '' })
    const named = options.map(([flags, one]) => {
      const values = flags === '--recipe <name>' ? recipeNames() : choicesOf(one)
      return [flags.split(' ')[0], values] as const
    })
    const ofValues = named
      .filter(([, values]) => values.length > 0)
      .map(([name, values]) => `    '${command} ${name}') words='${values.join(' ')}' ;;`)
    const [[argument, of] = ['', '']] = Object.entries(declared.arguments ?? {})
    const [about = ''] = [of].flat()
    const pipelines = argument.includes('pipeline') ? `" ${PIPELINES}"` : ''
    const words = [...wordsOf(argument, about), ...named.map(([name]) => name)].join(' ')
    return [...ofValues, `    '${command} '*) words='${words}'${pipelines} ;;`]
  })
  return [
    `# eval "$(jobtide completion ${shell})"`,
    ...(shell === 'zsh'
      ? ['autoload -U +X compinit bashcompinit && compinit && bashcompinit']
      : []),
    '_jobtide() {',
    '  local cur=${COMP_WORDS[COMP_CWORD]} words=',
    `  if [ "$COMP_CWORD" = 1 ]; then words='${Object.keys(COMMANDS).join(' ')}'; else`,
    '  case "${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}" in',
    ...cases,
    '  esac; fi',
    '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
    '}',
    'complete -o default -o bashdefault -F _jobtide jobtide',
    '',
  ].join('\n')
}
