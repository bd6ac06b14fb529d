import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { Secret } from '../../src/support/secret.ts'

const VALUE = 'sk_live_4f9a0c77'
const secret = new Secret(VALUE)

describe('Secret', () => {
  it('gives its value to reveal() only', () => {
    expect(secret.reveal()).toBe(VALUE)
  })

  it.each([
    ['a template', `${String(secret)}`],
    ['a primitive', Reflect.apply(String, null, [secret])],
    ['JSON', JSON.stringify({ deep: [{ secret }] })],
    ['inspect', inspect(secret)],
    ['inspect of what holds it, hidden parts too', inspect({ secret }, { showHidden: true })],
    ['inspect of a map', inspect(new Map([['key', secret]]), { depth: 9 })],
    ['a join', [secret, secret].join()],
  ])('shows [redacted] and not its value in %s', (_way, shown) => {
    expect(shown).toContain('[redacted]')
    expect(shown).not.toContain(VALUE)
  })

  it.each([
    ['its keys', Reflect.ownKeys(secret)],
    ['a copy of its fields', Object.assign({}, secret)],
    ['a structured clone', structuredClone(secret)],
    ['an error that holds it as its cause', inspect(new Error('failed', { cause: secret }))],
  ])('hides its value from %s', (_way, shown) => {
    expect(inspect(shown, { depth: 9, showHidden: true })).not.toContain(VALUE)
  })
})
