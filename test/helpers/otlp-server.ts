/** A server that receives OTLP as JSON over HTTP on loopback, and stores it. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { closeServer } from '../../src/support/loopback.ts'

interface Attribute {
  readonly key: string
  readonly value: Readonly<Record<string, string | number | boolean>>
}

interface Point {
  readonly attributes: readonly Attribute[]
  readonly asInt?: number
  readonly asDouble?: number
}

interface Resource {
  readonly attributes: readonly Attribute[]
}

export interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  readonly status: { readonly code: number; readonly message?: string }
}

export interface OtlpMetric {
  readonly name: string
  readonly unit: string
  readonly gauge?: { readonly dataPoints: readonly Point[] }
  readonly sum?: { readonly dataPoints: readonly Point[]; readonly isMonotonic: boolean }
}

interface Body {
  readonly resourceSpans?: readonly {
    readonly resource: Resource
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[]
  }[]
  readonly resourceMetrics?: readonly {
    readonly resource: Resource
    readonly scopeMetrics: readonly { readonly metrics: readonly OtlpMetric[] }[]
  }[]
}

/** What attributes say, by name. */
export function valuesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}

/**
 * Listens until the test ends.
 * @param answer how each request is answered; `never` for not at all, `page` with 200 and a page of HTML
 */
export async function otlpServer(answer: 200 | 400 | 'never' | 'page' = 200) {
  const taken: { readonly path: string; readonly body: Body }[] = []
  const server = createServer((request, response) => {
    const headers = { 'content-type': 'application/json' }
    // It may be asked in any protocol.
    if (answer === 'page') {
      request.resume().on('end', () => response.writeHead(200, headers).end('<html></html>'))
      return
    }
    void json(request).then((body) => {
      taken.push({ path: request.url ?? '', body: body as Body })
      if (answer === 'never') return
      response.writeHead(answer, headers).end('{}')
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => closeServer(server))
  const traces = () => taken.flatMap(({ body }) => body.resourceSpans ?? [])
  const metrics = () => taken.flatMap(({ body }) => body.resourceMetrics ?? [])
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    paths: () => taken.map(({ path }) => path),
    resources: () =>
      [...traces(), ...metrics()].map(({ resource }) => valuesOf(resource.attributes)),
    spans: () => traces().flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    metrics: () =>
      metrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics)),
  }
}
