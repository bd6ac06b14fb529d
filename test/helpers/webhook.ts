/** A webhook on this machine for `notify:`, which stores what it receives. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** An accepted message. */
export interface Got {
  readonly key: string | undefined
  readonly body: Record<string, unknown>
}

/** A webhook at a secret path, which answers with `status`, until the test ends. */
export async function startWebhook() {
  const hook = {
    status: 204,
    got: [] as Got[],
    beats: 0,
    url: '',
    onPost: () => undefined as unknown,
  }
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const key = request.headers['idempotency-key']
      if (request.method === 'GET') hook.beats += 1
      else if (hook.status < 300) {
        hook.got.push({ key: String(key), body: JSON.parse(body) as Got['body'] })
        hook.onPost()
      }
      response.writeHead(hook.status).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  hook.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/geheim-4711`
  return hook
}
