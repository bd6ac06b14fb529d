import { expect, it } from 'vitest'
import { sha256Hex } from '../../src/support/hash.ts'

it('sha256Hex is the digest of FIPS 180-4, of bytes and of text in UTF-8', () => {
  const abc = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
  expect(sha256Hex('abc')).toBe(abc)
  expect(sha256Hex(Buffer.from('abc'))).toBe(abc)
  expect(sha256Hex('Zoë')).toBe(sha256Hex(Buffer.from('Zoë', 'utf8')))
})
