/** A mail server on loopback. It stores the mails that it accepted, and closes with the test. */

import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

/** A mail on the server. */
export interface Mail {
  readonly to: string
  readonly id: string
  readonly subject: string
  /** The whole message as sent. */
  readonly raw: string
}

/** Starts a server that answers DATA with `answer`; null accepts. */
export async function startMailServer(
  options: SMTPServerOptions = {},
  answer: () => Error | null = () => null,
) {
  const mails: Mail[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: options.secure === true ? [] : ['STARTTLS'],
    onData(stream, session, done) {
      let raw = ''
      stream.setEncoding('utf8').on('data', (part: string) => (raw += part))
      stream.on('end', () => {
        const error = answer()
        if (error === null) mails.push(mailOf(raw, session.envelope.rcptTo[0]?.address ?? ''))
        done(error)
      })
    },
    ...options,
  })
  // A client that refuses the certificate hangs up.
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => server.close(resolve)))
  const { port } = server.server.address() as AddressInfo
  return { mails, port, url: `smtp://127.0.0.1:${port}` }
}

function mailOf(raw: string, to: string): Mail {
  const header = (name: string) => new RegExp(`^${name}: (.*)\r$`, 'm').exec(raw)?.[1] ?? ''
  return { to, raw, id: header('Message-ID'), subject: header('Subject') }
}
