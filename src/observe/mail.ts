/** Sends mail over SMTP. The only file that imports nodemailer. */

import { plainText, type Notice } from './messages.ts'
import { createTransport } from 'nodemailer'
import { messageOf } from '../support/errors.ts'
import { sha256Hex } from '../support/hash.ts'
import { isLoopbackHost } from '../support/loopback.ts'
import { onOneLine } from '../support/text.ts'
import { SECOND } from '../support/units.ts'

const DEADLINE_MS = 10 * SECOND

export type MailServer = ReturnType<typeof mailServer>

/**
 * Reads `smtps://user:password@host:465` or `smtp://user:password@host:587`.
 * @throws Error that says what is expected, without the address, which may hold a password
 */
export function mailServer(url: string) {
  const { protocol, hostname, port, username, password } = URL.canParse(url)
    ? new URL(url)
    : { protocol: '' }
  if (!/^smtps?:$/.test(protocol) || !hostname) {
    throw new Error(
      'JOBTIDE_SMTP_URL is not the address of a mail server, such as smtps://user:password@smtp.example.com:465',
    )
  }
  const secure = protocol === 'smtps:'
  return {
    host: hostname.replaceAll(/[[\]]/g, ''),
    port: Number(port) || (secure ? 465 : 587),
    /** TLS from the first byte; otherwise STARTTLS, which is required except on this machine. */
    secure,
    isLoopback: isLoopbackHost(hostname),
    /** Null for a server without authentication. */
    login: username
      ? { user: decodeURIComponent(username), pass: decodeURIComponent(password ?? '') }
      : null,
  }
}

/**
 * Sends a notice to one address. One attempt.
 * @param deadlineMs for all of it
 * @throws Error with server and reason if the server has not accepted it by then
 */
export async function sendMail(
  server: MailServer,
  { from, to, notice }: { readonly from: string; readonly to: string; readonly notice: Notice },
  deadlineMs = DEADLINE_MS,
): Promise<void> {
  const { host, port, secure, isLoopback, login } = server
  const transport = createTransport({
    host,
    port,
    secure,
    // Without TLS the password could be read in transit; connections on this machine are exempt.
    requireTLS: !secure && !isLoopback,
    ignoreTLS: !secure && isLoopback,
    ...(login === null ? {} : { auth: login }),
    // Later than the deadline below, so that the deadline always fires first and its message is the one reported.
    dnsTimeout: 2 * deadlineMs,
    connectionTimeout: 2 * deadlineMs,
    greetingTimeout: 2 * deadlineMs,
    socketTimeout: 2 * deadlineMs,
  })
  const deadline = AbortSignal.timeout(deadlineMs)
  try {
    await transport.sendMail({
      from,
      to,
      subject: notice.subject,
      text: plainText(notice.paragraphs),
      date: new Date(notice.at),
      // One id per key, so that a mail client can drop a duplicate.
      messageId: `<${sha256Hex(notice.key).slice(0, 32)}@${from.slice(from.indexOf('@') + 1)}>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
      disableFileAccess: true,
      disableUrlAccess: true,
      signal: deadline,
    })
  } catch (error) {
    const why = deadline.aborted ? `no answer within ${deadlineMs / SECOND} s` : messageOf(error)
    const hint = /certificate/i.test(why)
      ? '; NODE_EXTRA_CA_CERTS names further certificates to trust'
      : ''
    throw new Error(`${host}:${port} did not accept a mail: ${onOneLine(why)}${hint}`, {
      cause: error,
    })
  } finally {
    transport.close()
  }
}
