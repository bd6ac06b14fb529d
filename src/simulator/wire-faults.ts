/** How answers travel: whole, or by a fault cut, slowly, reset, or as something that is not the page at all. */

import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { Strike } from './faults.ts'

/** An answer that is ready to be sent. `Content-Length` is added on sending. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

const HTML = Buffer.from(
  '<!doctype html>\n<html><head><title>Just a moment</title></head><body><h1>Please wait</h1></body></html>\n',
)

/** Sends `answer`, changed on its way by the fault that struck, if it is one about the wire. */
export function sendAnswer(
  response: ServerResponse,
  answer: Answer,
  strike: Strike | undefined,
): void {
  const fault = strike?.fault
  if (fault?.reset === true) {
    response.socket?.resetAndDestroy()
  } else if (fault?.cut !== undefined) {
    sendCut(response, answer, bytesOf(fault.cut, answer.body.length))
  } else if (fault?.slow !== undefined) {
    sendSlowly(response, answer, fault.slow)
  } else {
    sendWhole(response, changedAnswer(answer, strike))
  }
}

function changedAnswer(answer: Answer, strike: Strike | undefined): Answer {
  const fault = strike?.fault
  if (fault?.html === true) {
    return { ...answer, headers: { ...answer.headers, 'Content-Type': 'text/html' }, body: HTML }
  }
  if (fault?.garbage === true) {
    // The page up to its middle and then bytes that no JSON has: the length is right, the text is not.
    const half = answer.body.subarray(0, Math.floor(answer.body.length / 2))
    return { ...answer, body: Buffer.concat([half, Buffer.from('\u0000}}]garbage')]) }
  }
  if (fault?.gzip === true) return gzipped(answer)
  if (fault?.gzip_cut !== undefined) {
    const packed = gzipped(answer)
    return { ...packed, body: packed.body.subarray(0, bytesOf(fault.gzip_cut, packed.body.length)) }
  }
  return answer
}

/** The answer with its body gzipped. */
export function gzipped(answer: Answer): Answer {
  if (answer.headers['Content-Encoding'] === 'gzip') return answer
  return {
    ...answer,
    headers: { ...answer.headers, 'Content-Encoding': 'gzip' },
    body: gzipSync(answer.body),
  }
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
