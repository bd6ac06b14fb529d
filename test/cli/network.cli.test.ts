/** What an operator sees when the network, the account or the question is wrong: one sentence, a hint, an exit code. */

import { writeFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { selfSignedCertificate } from '../helpers/certificate.ts'
import { startConnectProxy } from '../helpers/connect-proxy.ts'
import { openSite, type CliResult } from '../helpers/run-cli.ts'

const ESC = String.fromCharCode(27)

function expectProblem(
  result: CliResult,
  expected: { exitCode: number; says: RegExp; next: RegExp },
): void {
  expect(result.exitCode, result.stderr).toBe(expected.exitCode)
  expect(result.stderr).toMatch(expected.says)
  expect(result.stderr).toMatch(expected.next)
  expect(result.stderr).not.toMatch(/\n\s+at /)
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** The simulator of a site behind TLS, as service.test, and a proxy that leads there. */
async function behindProxy() {
  const site = await openSite({ companies: 2 })
  const { cert, key } = selfSignedCertificate('service.test')
  const simulatorPort = Number(new URL(site.simulator.url).port)
  const tls = createTlsServer({ cert, key }, (socket) => {
    const upstream = connect(simulatorPort, '127.0.0.1')
    socket.pipe(upstream).pipe(socket)
    for (const end of [socket, upstream]) end.on('error', () => end.destroy())
  })
  const proxy = await startConnectProxy({ port: await listen(tls) })
  const certificate = join(site.folder, 'ca.pem')
  writeFileSync(certificate, cert)
  const env = {
    JOBTIDE_BASE_URL: 'https://service.test',
    HTTPS_PROXY: `http://crew:geheim%2F77@127.0.0.1:${proxy.port}`,
  }
  return { site, proxy, certificate, env }
}

describe('a service behind a proxy', () => {
  it('is read through HTTPS_PROXY with the certificate of NODE_EXTRA_CA_CERTS; the password is shown nowhere', async () => {
    const { site, proxy, certificate, env } = await behindProxy()
    const result = await site.run(['extract', site.pipeline, '--log-level', 'trace'], {
      env: { ...env, NODE_EXTRA_CA_CERTS: certificate },
    })
    expect(result.exitCode, result.stderr).toBe(0)
    expect(site.simulator.account().charged_pages).toBeGreaterThan(1)
    expect(new Set(proxy.asked)).toEqual(new Set(['service.test:443']))
    expect(new Set(proxy.credentials)).toEqual(new Set(['crew:geheim/77']))
    expect(result.stdout + result.stderr).not.toMatch(/geheim/)
  })

  it('whose certificate is not trusted ends the run with exit 2 within 15 s, before anything was sent', async () => {
    const { site, env } = await behindProxy()
    const result = await site.run(['extract', site.pipeline], { env })
    expectProblem(result, {
      exitCode: 2,
      says: /jobtide: service\.test:443 cannot be reached: no TLS .*\(DEPTH_ZERO_SELF_SIGNED_CERT\)/,
      next: /→ Check JOBTIDE_BASE_URL.* NODE_EXTRA_CA_CERTS.* Nothing was sent/,
    })
    expect(site.simulator.account().requests).toBe(0)
    expect(result.tookMs).toBeLessThan(20_000)
  })

  it('is not looked for when the variable is malformed: exit 2 names it and no password', async () => {
    const site = await openSite({ companies: 1 })
    const env = { JOBTIDE_BASE_URL: 'https://service.test', https_proxy: 'crew:geheim77@proxy:1' }
    const result = await site.call(['extract', site.pipeline, '--json'], { env })
    expectProblem(result, {
      exitCode: 2,
      says: /https_proxy is not the address of a proxy/,
      next: /http:\/\/proxy\.example\.com:3128/,
    })
    expect(result.stdout + result.stderr).not.toMatch(/geheim/)
  })

  it('is not where a service on this machine is: it is read directly, whatever the variables say', async () => {
    const site = await openSite({ companies: 1 })
    const env = {
      HTTP_PROXY: 'http://127.0.0.1:9',
      HTTPS_PROXY: 'nonsense',
      http_proxy: 'nonsense',
    }
    expect((await site.call(['extract', site.pipeline], { env })).exitCode).toBe(0)
  })
})

describe('a connection that is refused', () => {
  it('ends the run with exit 5 within 15 s, names host and port and what to look at', async () => {
    const site = await openSite({ companies: 1 })
    const server = createServer()
    const port = await listen(server)
    await new Promise((resolve) => server.close(resolve))
    const env = { JOBTIDE_BASE_URL: `http://127.0.0.1:${port}` }
    const result = await site.call(['extract', site.pipeline], { env })
    expectProblem(result, {
      exitCode: 5,
      says: new RegExp(`127\\.0\\.0\\.1:${port} cannot be reached: the connection was refused`),
      next: /→ Check JOBTIDE_BASE_URL.* HTTPS_PROXY and NO_PROXY.* Nothing was sent/,
    })
    expect(result.tookMs).toBeLessThan(20_000)
    expect((await site.call(['extract', site.pipeline])).exitCode).toBe(0)
  })
})

describe('an account without credits (402)', () => {
  it('ends with exit 4 after 1 refused request; the pages before it are loaded and published', async () => {
    const message = 'Not enough credits'
    const site = await openSite({ faults: [{ page: 3, status: 402, message, times: 'always' }] })
    const result = await site.call(['run', site.pipeline, '--concurrency', '1'])
    expectProblem(result, {
      exitCode: 4,
      says: /jobtide: the service wants to be paid before it answers \(402\): Not enough credits/,
      next: /→ Nothing was charged for this request\. Top up .* run the same command again/,
    })
    expect(site.simulator.account()).toMatchObject({ requests: 3, credits: 20 })
    expect(result.stdout).toMatch(/loaded +100 new/)
    expect(result.stdout).toMatch(/published +snapshot/)
    site.simulator.setFaults([])
    expect((await site.call(['run', site.pipeline])).exitCode).toBe(0)
  })
})

describe('a 400 that names no company', () => {
  it('ends with exit 2 and the words of the service on one line, without a stack', async () => {
    const message = `bad ${ESC}[31m thing\r\njobtide: forged \u202eline`
    const site = await openSite({
      companies: 1,
      faults: [{ status: 400, message, times: 'always' }],
    })
    const result = await site.call(['run', site.pipeline])
    expectProblem(result, {
      exitCode: 2,
      says: /^jobtide: the service did not accept the request \(400\): bad \[31m thing jobtide: forged line$/m,
      next: /→ Nothing was charged\. Correct what the service names/,
    })
    expect(site.simulator.account().requests).toBe(1)
    expect(result.stderr).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u)
  })
})
