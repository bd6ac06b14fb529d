/** Makes a self-signed certificate without another program or a key file: DER by hand (RFC 5280). */

import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto'

/** A self-signed certificate for `host`, valid from 2020 to 2049, and its key; PEM. */
export function selfSignedCertificate(host: string): { cert: string; key: string } {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  const name = sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(host)))))
  const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'))
  const alternativeName = sequence(der(0x82, Buffer.from(host)))
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    sequence(time('200101000000Z'), time('491231235959Z')),
    name,
    publicKey,
    der(0xa3, sequence(sequence(oid('551d11'), der(0x04, alternativeName)))),
  )
  const signature = sign('sha256', toBeSigned, privateKey)
  const bits = der(0x03, Buffer.concat([Buffer.from([0]), signature]))
  const body = sequence(toBeSigned, ecdsaWithSha256, bits).toString('base64')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${body.replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const sequence = (...parts: readonly Buffer[]) => der(0x30, Buffer.concat(parts))
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))
const time = (text: string) => der(0x17, Buffer.from(text))
