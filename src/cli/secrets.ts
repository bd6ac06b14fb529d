/** Collects the secrets among the environment variables, so that the scrubber can remove them from all output. */

import { refuseLong, type Environment } from '../config.ts'

/**
 * The secrets among the variables, so that no output shows them. A key in a file is known once the file is read.
 * @throws ConfigError when one is too long to search for
 */
export function secretsOf(environment: Environment): string[] {
  const keys = [
    'JOBTIDE_API_KEY',
    'JOBTIDE_WEBHOOK_SECRET',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_SESSION_TOKEN',
    'PGPASSWORD',
  ]
  for (const name of [...keys, ...PROXY_VARIABLES]) refuseLong(environment[name]?.length ?? 0, name)
  const mixedUp = Object.entries(environment)
    .filter(([name]) => name.startsWith('JOBTIDE_'))
    .flatMap(([, value]) => KEY_IN_VALUE.exec(value ?? '')?.[1] ?? [])
  const own = keys.flatMap((name) => environment[name]?.trim() || [])
  return [...own, ...mixedUp, ...proxySecrets(environment), ...postgresSecrets(environment)]
}

// A lost line end puts the key into the value of another variable, which an error may quote.
const KEY_IN_VALUE =
  /(?:JOBTIDE_API_KEY|JOBTIDE_WEBHOOK_SECRET|AWS_SECRET_ACCESS_KEY|AWS_SESSION_TOKEN)\s*=\s*["']?([^\s"';]+)/

const PROXY_VARIABLES = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY']

// Name and password of a proxy, together and each as written and as meant, also in an address that is malformed.
function proxySecrets(environment: Environment): string[] {
  return PROXY_VARIABLES.flatMap((name) => {
    const user = /^(?:[a-z\d+.-]*:\/\/)?(.*)@/is.exec(environment[name] ?? '')?.[1]
    if (!user) return []
    const password = user.slice(user.indexOf(':') + 1)
    return [user, password].flatMap((secret) => [secret, decoded(secret)])
  })
}

// The password in the address of a database, also in one that is malformed.
function postgresSecrets(environment: Environment): string[] {
  return Object.values(environment).flatMap((value = '') => {
    const [, password, option] =
      /^postgres(?:ql)?:\/\/(?:[^:@/]*:(.*)@|.*[?&]password=([^&#]*))/is.exec(value.trim()) ?? []
    const secret = password ?? option
    return secret === undefined ? [] : [secret, decoded(secret)]
  })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
