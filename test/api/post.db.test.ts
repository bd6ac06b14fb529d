import { createServer } from 'node:net'
import { expect, it } from 'vitest'
import { sendSmall } from '../../src/api/post.ts'
import { listen } from './transport-fixture.ts'

it('a message through a proxy that never answers is given up after 10 s', async () => {
  const silent = createServer((socket) => socket.on('error', () => undefined))
  const proxy = `http://127.0.0.1:${await listen(silent)}`
  const proxies = { http: proxy, https: proxy, noProxy: '' }
  const beganAt = performance.now()
  await expect(sendSmall('https://hook.test/x', {}, {}, proxies)).rejects.toThrow(/timeout/)
  expect(performance.now() - beganAt).toBeGreaterThan(9_000)
}, 60_000)
