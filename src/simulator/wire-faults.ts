/** How answers travel: whole, or by a fault cut, slowly, or reset. */

import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { Strike } from './faults.ts'

/** An answer that is ready to be sent. `Content-Length` is added on sending. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Sends `answer`, changed on its way by the fault that struck, if it is one about the wire. */
export function sendAnswer(
  response: ServerResponse,
  answer: Answer,
  fault: Strike['fault'] | undefined,
): void {
  const { headers, body } = answer
  if (fault?.reset === true) response.socket?.resetAndDestroy()
  else if (fault?.cut !== undefined) sendCut(response, answer, bytesOf(fault.cut, body.length))
  else if (fault?.slow !== undefined) sendSlowly(response, answer, fault.slow)
  else if (fault?.gzip_cut !== undefined) {
    const packed = gzipSync(body)
    sendWhole(response, {
      ...answer,
      headers: { ...headers, 'Content-Encoding': 'gzip' },
      body: packed.subarray(0, bytesOf(fault.gzip_cut, packed.length)),
    })
  } else sendWhole(response, answer)
}

/** At most all but one byte, so that something is always missing. */
function bytesOf(amount: number | string, length: number): number {
  const bytes =
    typeof amount === 'number' ? amount : Math.floor((length * Number.parseFloat(amount)) / 100)
  return Math.max(0, Math.min(bytes, length - 1))
}

function sendWhole(response: ServerResponse, answer: Answer): void {
  writeHead(response, answer)
  response.end(answer.body)
}

function writeHead(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { ...headers, 'Content-Length': String(body.length) })
}

function sendCut(response: ServerResponse, answer: Answer, bytes: number): void {
  writeHead(response, answer)
  response.flushHeaders()
  if (bytes > 0) response.write(answer.body.subarray(0, bytes))
  // Not destroy(): what was written has to reach the client before the connection dies.
  response.socket?.destroySoon()
}

function sendSlowly(
  response: ServerResponse,
  answer: Answer,
  slow: NonNullable<Strike['fault']['slow']>,
): void {
  const step = slow.bytes ?? answer.body.length
  let sent = 0
  const drip = () => {
    if (response.destroyed) return
    if (!response.headersSent) writeHead(response, answer)
    response.write(answer.body.subarray(sent, sent + step))
    sent += step
    if (sent >= answer.body.length) response.end()
    else setTimeout(drip, slow.every_ms).unref()
  }
  setTimeout(drip, slow.delay_ms).unref()
}
