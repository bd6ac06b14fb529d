import { chmodSync, chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  apiKeyFrom,
  webhookSecretFrom,
  baseUrlFrom,
  dataDirFrom,
  sizeFrom,
  proxiesFrom,
  refuseKeyInArguments,
  secretsOf,
} from '../../src/config.ts'
import { createScrubber } from '../../src/support/logger.ts'
import { MIB } from '../../src/support/units.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

describe('JOBTIDE_BASE_URL', () => {
  it.each([
    ['https://api.example.com/', 'https://api.example.com'],
    ['HTTPS://API.example.com:8443/jobs/', 'https://api.example.com:8443/jobs'],
    ['http://127.0.0.1:8787', 'http://127.0.0.1:8787'],
    ['http://localhost:8787', 'http://localhost:8787'],
    ['http://[::1]:8787/', 'http://[::1]:8787'],
  ])('%s is taken as %s', (text, url) => {
    expect(baseUrlFrom({ JOBTIDE_BASE_URL: text })).toBe(url)
  })

  it.each([
    ['', 'is not set'],
    ['api.example.com', 'must be an https address'],
    ['http://api.example.com', 'must be an https address'],
    ['http://localhost.example.com', 'must be an https address'],
    ['http://127.0.0.1.example.com', 'must be an https address'],
    ['ftp://localhost', 'must be an https address'],
    ['https://user:word@api.example.com', 'no user, query or fragment'],
    ['https://api.example.com?key=1', 'no user, query or fragment'],
    ['https://api.example.com#x', 'no user, query or fragment'],
  ])('%j is refused: it %s', (text, reason) => {
    expect(() => baseUrlFrom({ JOBTIDE_BASE_URL: text })).toThrow(reason)
  })

  it.each([
    'sk-0123456789',
    'https://api.example.com JOBTIDE_API_KEY=sk-0123456789',
    'http://a/\nsk-0123456789',
  ])('%j, mixed up with the key, is refused without showing the key', (text) => {
    const refused = (() => {
      try {
        return baseUrlFrom({ JOBTIDE_BASE_URL: text })
      } catch (error) {
        return error
      }
    })()
    expect(refused).toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('must be an https address'),
    })
    expect(JSON.stringify(refused) + String(refused)).not.toContain('sk-')
  })
})

describe('the proxies', () => {
  const SERVICE = 'https://api.example.com'
  const A = 'http://a.example.com:3128'
  const B = 'http://b.example.com:3128'

  it.each([
    [{ HTTPS_PROXY: '', NO_PROXY: '*' }, undefined],
    [
      { https_proxy: A, HTTPS_PROXY: B },
      { https: A, http: '', noProxy: '' },
    ],
    [
      { HTTP_PROXY: B, NO_PROXY: '.local, x' },
      { https: '', http: B, noProxy: '.local, x' },
    ],
  ])('of %j are %j', (environment, proxies) => {
    expect(proxiesFrom(environment, SERVICE)).toEqual(proxies)
  })

  it.each(['http://127.0.0.1:8787', 'http://localhost:1', 'http://[::1]:1', 'https://127.0.0.2'])(
    'are not used for a service on this machine (%s), whatever the variables say',
    (baseUrl) => {
      const environment = { HTTPS_PROXY: A, HTTP_PROXY: 'nonsense', http_proxy: B }
      expect(proxiesFrom(environment, baseUrl)).toBeUndefined()
    },
  )

  it.each([
    'proxy.example.com:3128',
    'http://',
    'socks5://user:geheim7@proxy:1080',
    'http://user:geheim7@proxy:99999',
  ])('%s is refused by the name of its variable, without its value', (text) => {
    for (const name of ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy']) {
      expect(() => proxiesFrom({ [name]: text }, SERVICE)).toThrow(
        expect.objectContaining({ exitCode: 2, message: `${name} is not the address of a proxy` }),
      )
    }
  })
})

describe('the API key', () => {
  it('comes from JOBTIDE_API_KEY first, trimmed, then from the file', () => {
    const file = join(temporaryFolder(), 'key')
    writeFileSync(file, '  from-file\n', { mode: 0o600 })
    const both = { JOBTIDE_API_KEY: ' from-environment ', JOBTIDE_API_KEY_FILE: file }
    expect(apiKeyFrom(both)).toMatchObject({ source: 'JOBTIDE_API_KEY' })
    expect(apiKeyFrom(both).secret.reveal()).toBe('from-environment')
    expect(apiKeyFrom({ ...both, JOBTIDE_API_KEY: '' }).secret.reveal()).toBe('from-file')
  })

  it.each([
    [0o600, 'taken'],
    [0o400, 'taken'],
    [0o440, 'taken'],
    [0o444, 'taken with a warning'],
    [0o604, 'taken with a warning'],
    [0o660, 'taken'],
    [0o602, 'refused'],
  ])('in a file with mode %i is %s', (mode, outcome) => {
    const file = join(temporaryFolder(), 'key')
    writeFileSync(file, 'from-file')
    chmodSync(file, mode)
    const take = () => apiKeyFrom({ JOBTIDE_API_KEY_FILE: file })
    if (outcome === 'refused')
      expect(take).toThrow('may be written by every account, which could change the key')
    else expect(take()).toMatchObject({ isWide: outcome !== 'taken' })
  })

  it('in a file of another account is refused, for root as well', (context) => {
    context.skip(process.getuid?.() !== 0, 'only root can give a file away')
    const file = join(temporaryFolder(), 'key')
    writeFileSync(file, 'from-file', { mode: 0o600 })
    chownSync(file, 12_345, 0)
    const environment = { JOBTIDE_API_KEY_FILE: file, JOBTIDE_WEBHOOK_SECRET_FILE: file }
    for (const take of [apiKeyFrom, webhookSecretFrom]) {
      expect(() => take(environment)).toThrow(
        expect.objectContaining({
          exitCode: 2,
          message: expect.stringContaining('belongs to another account (uid 12345)') as string,
        }),
      )
    }
    chownSync(file, 0, 12_345)
    chmodSync(file, 0o660)
    expect(apiKeyFrom(environment)).toMatchObject({ isWide: true })
  })

  it('with a blank or a line break, or too short to be scrubbed from logs, is refused without showing it', () => {
    for (const key of ['two words', 'two\nlines', 'umläut', 'qwert']) {
      expect(() => apiKeyFrom({ JOBTIDE_API_KEY: key })).toThrow(
        /^(?!.*(words|lines|umläut|qwert))/s,
      )
    }
    // The value may be the key, by mistake.
    expect(() => apiKeyFrom({ JOBTIDE_API_KEY_FILE: 'sk-0123456789' })).toThrow(
      /^JOBTIDE_API_KEY_FILE names a file that cannot be read \(ENOENT\)$/,
    )
    for (const path of [temporaryFolder(), '/dev/null']) {
      expect(() => apiKeyFrom({ JOBTIDE_API_KEY_FILE: path })).toThrow(
        /^JOBTIDE_API_KEY_FILE names a folder or a device in place of a file$/,
      )
    }
    expect(() => apiKeyFrom({})).toThrow('there is no API key')
  })

  it.each([`"from-shop"`, `'from-shop'`])(
    '%s in quotes is refused, and the message names the quotes',
    (key) => {
      const file = join(temporaryFolder(), 'key')
      writeFileSync(file, `${key}\n`, { mode: 0o600 })
      for (const environment of [{ JOBTIDE_API_KEY: key }, { JOBTIDE_API_KEY_FILE: file }]) {
        expect(() => apiKeyFrom(environment)).toThrow(/ begins and ends with a quote$/)
      }
    },
  )

  it('of more than 4,096 characters is refused at once, in a file or a variable', () => {
    const key = 'k'.repeat(4_097)
    const file = join(temporaryFolder(), 'key')
    writeFileSync(file, key.repeat(1_000), { mode: 0o600 })
    const says = (name: string) => new RegExp(`^${name}[^k]* is too long: [^k]*$`)
    expect(() => apiKeyFrom({ JOBTIDE_API_KEY_FILE: file })).toThrow('too long')
    for (const name of ['JOBTIDE_API_KEY', 'AWS_SESSION_TOKEN', 'HTTPS_PROXY']) {
      expect(() => secretsOf({ [name]: key })).toThrow(says(name))
    }
    const { secret } = apiKeyFrom({ JOBTIDE_API_KEY: key.slice(1) })
    const scrubber = createScrubber()
    scrubber.add(secret.reveal())
    expect(scrubber.scrub(`${key}.`)).toBe('[redacted]k.')
  })

  it.each([
    [['run', 'nightly', '--key', 'x'], true],
    [['run', 'nightly', '--API_KEY=x'], true],
    [['run', 'nightly', '-token', 'x'], true],
    [['query', `select 'secret-key'`], true],
    [['simulate', '--key', 'made-up'], false],
    [['simulate', '--key', 'secret-key'], true],
    [['run', 'nightly', '--days', '7'], false],
    [['query', 'select key from keys'], false],
  ])('among the arguments %j is refused: %s', (argv, isRefused) => {
    const check = () => refuseKeyInArguments(argv, { JOBTIDE_API_KEY: 'secret-key' })
    if (isRefused) expect(check).toThrow('cannot be an argument')
    else expect(check).not.toThrow()
  })

  it('is accepted by the simulator while it is the key of a simulator, and refused as that of a service', () => {
    const keys = (url: string) => ({ JOBTIDE_API_KEY: 'secret-key', JOBTIDE_BASE_URL: url })
    const check = (command: string, url: string) => () =>
      refuseKeyInArguments([command, '--key', 'secret-key'], keys(url))
    expect(check('simulate', 'http://127.0.0.1:8080')).not.toThrow()
    expect(check('simulate', 'https://api.example.com')).toThrow('cannot be an argument')
    expect(check('run', 'http://127.0.0.1:8080')).toThrow('cannot be an argument')
  })

  it('and other secrets are in no output: AWS keys, and passwords of proxies, encoded and decoded', () => {
    expect(
      secretsOf({
        JOBTIDE_API_KEY: 'one',
        AWS_SECRET_ACCESS_KEY: 'two',
        AWS_SESSION_TOKEN: ' three ',
        AWS_ACCESS_KEY_ID: 'public',
        HTTPS_PROXY: 'http://a.example.com:3128',
      }),
    ).toEqual(['one', 'two', 'three'])
    const onOneLine = 'info JOBTIDE_API_KEY="sk-0123456789"'
    expect(secretsOf({ JOBTIDE_LOG: onOneLine, EDITOR: onOneLine })).toEqual(['sk-0123456789'])
    expect(
      secretsOf({
        HTTPS_PROXY: 'http://crew:p%40ss%2Fword@proxy:3128',
        http_proxy: 'user2:geheim77@proxy',
      }),
    ).toEqual(expect.arrayContaining(['p%40ss%2Fword', 'p@ss/word', 'crew:p@ss/word', 'geheim77']))
  })
})

describe('other variables', () => {
  it('the data directory is the option, else JOBTIDE_DATA_DIR, else ./data', () => {
    expect(dataDirFrom({ JOBTIDE_DATA_DIR: '/b' }, '/a')).toBe('/a')
    expect(dataDirFrom({ JOBTIDE_DATA_DIR: '/b' }, undefined)).toBe('/b')
    expect(dataDirFrom({ JOBTIDE_DATA_DIR: '' }, undefined)).toBe('./data')
    expect(() => dataDirFrom({}, '/a?b/data')).toThrow('has a ? in its path')
    for (const path of ['~/data', '~', '$HOME/data', '/srv/${NAME}/data']) {
      expect(() => dataDirFrom({ JOBTIDE_DATA_DIR: path }, undefined)).toThrow(
        `the data directory is ${path}`,
      )
    }
    expect(dataDirFrom({}, '/srv/~old/$x')).toBe('/srv/~old/$x')
  })

  it.each([
    ['800 mb', 800e6],
    ['1.5GiB', 1_536 * MIB],
    ['256MB', 256e6],
    ['', null],
  ])('a memory limit of %s is %s bytes', (text, bytes) => {
    expect(sizeFrom({ JOBTIDE_MEMORY_LIMIT: text }, 'JOBTIDE_MEMORY_LIMIT')).toBe(bytes)
  })

  it('the limit of disk space has the same format as that of memory', () => {
    const temporary = (text: string) => sizeFrom({ JOBTIDE_TEMP_LIMIT: text }, 'JOBTIDE_TEMP_LIMIT')
    expect(temporary('40 GB')).toBe(40e9)
    expect(sizeFrom({}, 'JOBTIDE_TEMP_LIMIT')).toBeNull()
    expect(() => temporary('0.5MB')).toThrow(/at least 1MB/)
  })

  it.each(['800', 'lots', '-1GB', '255MB', '80%', '0GB'])(
    'a memory limit of %s is refused',
    (text) => {
      expect(() => sizeFrom({ JOBTIDE_MEMORY_LIMIT: text }, 'JOBTIDE_MEMORY_LIMIT')).toThrow(
        `expected a size such as 800MB or 2GiB, at least 256MB, got "${text}"`,
      )
    },
  )
})
