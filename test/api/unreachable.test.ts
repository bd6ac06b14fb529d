import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { whyUnreachable } from '../../src/api/unreachable.ts'
import { startConnectProxy } from '../helpers/connect-proxy.ts'
import { failureOf, httpServer, listen, signal, transportTo } from './transport-fixture.ts'

const aService = () => httpServer((_request, response) => response.end('{}'))

async function closedPort(): Promise<number> {
  const server = createServer()
  const port = await listen(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}

const through = (port: number, user = '') => {
  const proxy = `http://${user}127.0.0.1:${port}`
  return { proxies: { http: proxy, https: proxy, noProxy: '' } }
}

describe('a failed connection names host and port, and is not in doubt', () => {
  it('when it is refused', async () => {
    const port = await closedPort()
    const error = await failureOf(`http://127.0.0.1:${port}`)
    expect(error).toMatchObject({ obstacle: 'refused', inDoubt: false })
    expect(error.message).toBe(
      `127.0.0.1:${port} cannot be reached: the connection was refused by 127.0.0.1:${port} (ECONNREFUSED)`,
    )
  })

  it('when every address of a name refuses it', async () => {
    const error = await failureOf(`http://localhost:${await closedPort()}`)
    expect(error).toMatchObject({ obstacle: 'refused', inDoubt: false })
  })

  it.each([
    ['ENOTFOUND', 'name', 'the name api.example.com is not known'],
    ['EHOSTUNREACH', 'route', 'no route to it'],
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout', 'the connection timed out'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'certificate', 'the TLS connection failed: as it says'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate', 'the TLS connection failed: as it says'],
    ['CERT_HAS_EXPIRED', 'certificate', 'the TLS connection failed: as it says'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate', 'the TLS connection failed: as it says'],
  ])('%s is %s', (code, obstacle, words) => {
    const error = Object.assign(new Error('as it says'), { code, hostname: 'api.example.com' })
    expect(whyUnreachable(error, 'https://api.example.com/jobs')).toEqual({
      obstacle,
      reason: `api.example.com:443 cannot be reached: ${words} (${code})`,
    })
  })

  it('to a port without TLS, in one reason and without a source line of OpenSSL', async () => {
    const error = await failureOf(`https://127.0.0.1:${await aService()}`)
    expect(error).toMatchObject({ obstacle: 'certificate', inDoubt: false })
    expect(error.message).toMatch(
      /: the TLS connection failed: wrong version number \(ERR_SSL_WRONG_VERSION_NUMBER\)$/,
    )
  })

  it.each(['ECONNRESET', 'UND_ERR_SOCKET', 'UND_ERR_HEADERS_TIMEOUT', 'EPIPE'])(
    '%s is not an obstacle: there was a connection',
    (code) => {
      expect(whyUnreachable(Object.assign(new Error('x'), { code }), 'http://x')).toBeNull()
    },
  )
})

// test/cli/errors.cli.test.ts shows that a proxy with name and password tunnels to the service.
describe('a proxy', () => {
  it('is bypassed for the hosts in NO_PROXY', async () => {
    const proxy = await startConnectProxy({ status: 403 })
    const settings = {
      proxies: { ...through(proxy.port).proxies, noProxy: '.example.com,127.0.0.1' },
    }
    const transport = transportTo(`http://127.0.0.1:${await aService()}`, settings)
    expect((await transport.send('/x', {}, signal)).status).toBe(200)
    expect(proxy.asked).toEqual([])
  })

  it.each([
    [407, ': it wants a user name and a password'],
    [403, ': it does not let this machine reach the host'],
    [502, ''],
  ])('that answers %i is named as the obstacle, not its password', async (status, words) => {
    const proxy = await startConnectProxy({ status })
    const error = await failureOf('https://service.test', through(proxy.port, 'crew:geheim77@'))
    expect(error).toMatchObject({ obstacle: 'proxy', inDoubt: false })
    const said = `service.test:443 cannot be reached: the proxy answered ${status}${words}`
    expect(error.message).toContain(said)
    expect(error.message).not.toContain('geheim77')
  })

  it.each([
    ['never answers', '', 'did not open a tunnel within 0.3 s'],
    ['answers half a line', 'HTTP/1.1 2', 'did not open a tunnel within 0.3 s'],
    ['ends no header', 'HTTP/1.1 200 OK\r\nX: 1\r\n', 'did not open a tunnel within 0.3 s'],
    ['hangs up', null, 'hung up: other side closed'],
  ])('that %s is the obstacle, and the request not in doubt', async (_, answer, why) => {
    const odd = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => (answer === null ? socket.destroy() : socket.write(answer)))
    })
    const settings = { ...through(await listen(odd)), tunnelMs: 300 }
    const error = await failureOf('https://service.test', settings)
    expect(error).toMatchObject({ obstacle: 'proxy', inDoubt: false })
    expect(error.message).toMatch(`service.test:443 cannot be reached: the proxy ${why}`)
  })

  it('that is down is named with its address', async () => {
    const port = await closedPort()
    const error = await failureOf('https://service.test', through(port, 'crew:geheim77@'))
    expect(error).toMatchObject({ obstacle: 'refused', inDoubt: false })
    expect(error.message).toContain(`service.test:443 cannot be reached`)
    expect(error.message).toContain(`refused by 127.0.0.1:${port}`)
    expect(error.message).not.toContain('geheim77')
  })
})
