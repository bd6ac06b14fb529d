import { noticeOf, plainText, sentFrom, slackBody } from '../../src/observe/messages.ts'
import { createServer, type AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { mailServer, sendMail, type MailServer } from '../../src/observe/mail.ts'
import { selfSignedCertificate } from '../helpers/certificate.ts'
import { startMailServer } from '../helpers/smtp.ts'

const NOTICE = noticeOf({
  key: 'run-1:last_run_failed:5',
  kind: 'failure',
  pipeline: 'nightly',
  text: 'the last run of nightly ended with exit 9: zu wenig Platz für Ärger\n.',
  hint: 'Make room.',
  runId: 'run-1',
  at: Date.UTC(2026, 10, 24),
})
const PEOPLE = { from: 'jobtide@example.com', to: 'team@example.com', notice: NOTICE }

/** The reason why a mail was refused. */
async function refusal(server: MailServer, deadlineMs?: number): Promise<string> {
  const begun = performance.now()
  const error = await sendMail(server, PEOPLE, deadlineMs).catch((cause: unknown) => cause as Error)
  expect(performance.now() - begun).toBeLessThan(2_000)
  return error instanceof Error ? error.message : 'it was taken'
}

describe('a mail', () => {
  it('arrives as plain text with a subject, and twice under one Message-ID for one key', async () => {
    const { mails, url } = await startMailServer()
    await sendMail(mailServer(url), PEOPLE)
    await sendMail(mailServer(url), PEOPLE)
    await sendMail(mailServer(url), { ...PEOPLE, notice: { ...NOTICE, key: 'another' } })
    expect(mails).toMatchObject([
      { to: 'team@example.com', subject: 'Jobtide nightly: failure' },
      { to: 'team@example.com' },
      { to: 'team@example.com' },
    ])
    const [first, again, other] = mails
    expect(first?.id).toMatch(/^<[\da-f]{32}@example\.com>$/)
    expect(again?.id).toBe(first?.id)
    expect(other?.id).not.toBe(first?.id)
    expect(first?.raw).toContain('Content-Type: text/plain; charset=utf-8')
    expect(first?.raw).toContain('Date: Tue, 24 Nov 2026 00:00:00 +0000')
    expect(first?.raw).toMatch(/exit 9: zu wenig Platz f=C3=BCr =\r\n=C3=84rger\r\n\.\r\n/)
    expect(first?.raw).toContain('Make room.')
  })

  it('logs in if the server asks for it; a wrong password is reported without showing it', async () => {
    const { mails, port } = await startMailServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth({ username, password }, _session, done) {
        if (username === 'me@example.com' && password === 'p:ss/w@rd')
          return done(null, { user: 1 })
        return done(new Error('no such login'))
      },
    })
    const url = (password: string) =>
      `smtp://me%40example.com:${encodeURIComponent(password)}@127.0.0.1:${port}`
    await sendMail(mailServer(url('p:ss/w@rd')), PEOPLE)
    expect(mails.length).toBe(1)
    const why = await refusal(mailServer(url('geheim-4711')))
    expect(why).toMatch(/^127\.0\.0\.1:\d+ did not accept a mail: .*535/)
    expect(why).not.toContain('geheim-4711')
    expect(mails.length).toBe(1)
  })

  it('fails in time at a server that refuses, is down, or hangs, each with its reason', async () => {
    const refusing = await startMailServer({
      onRcptTo: (_address, _session, done) => done(new Error('no such mailbox')),
    })
    expect(await refusal(mailServer(refusing.url))).toMatch(
      /did not accept a mail: .*no such mailbox/,
    )
    const after = await startMailServer({}, () => new Error('come back later'))
    expect(await refusal(mailServer(after.url))).toMatch(/come back later/)
    expect(await refusal(mailServer('smtp://127.0.0.1:1'))).toMatch(/ECONNREFUSED/)

    const silent = createServer(() => undefined)
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void silent.close())
    const { port } = silent.address() as AddressInfo
    for (const scheme of ['smtp', 'smtps']) {
      const why = await refusal(mailServer(`${scheme}://127.0.0.1:${port}`), 200)
      expect(why).toMatch(/did not accept a mail: no answer within 0\.2 s/)
    }
    const stuck = await startMailServer({ onRcptTo: () => undefined })
    expect(await refusal(mailServer(stuck.url), 200)).toMatch(/no answer within 0\.2 s/)
  })

  it('is not sent with an untrusted certificate, nor without TLS to another machine', async () => {
    const self = await startMailServer({ secure: true, ...selfSignedCertificate('localhost') })
    expect(await refusal(mailServer(`smtps://me:geheim@localhost:${self.port}`))).toMatch(
      /^localhost:\d+ did not accept a mail: self-signed certificate.*; NODE_EXTRA_CA_CERTS names further/,
    )
    let logins = 0
    const plain = await startMailServer({
      allowInsecureAuth: true,
      onAuth: (_auth, _session, done) => {
        logins += 1
        done(null, { user: 1 })
      },
    })
    const elsewhere = {
      ...mailServer(`smtp://me:geheim@127.0.0.1:${plain.port}`),
      isLoopback: false,
    }
    expect(await refusal(elsewhere)).toMatch(/STARTTLS/i)
    expect([logins, self.mails, plain.mails]).toEqual([0, [], []])
  })
})

describe('the address of a mail server', () => {
  it('has a scheme, a host and default ports; an error never shows its password', () => {
    expect(mailServer('smtps://a%40b:c%2Fd@smtp.example.com')).toEqual({
      host: 'smtp.example.com',
      port: 465,
      secure: true,
      isLoopback: false,
      login: { user: 'a@b', pass: 'c/d' },
    })
    expect(mailServer('smtp://[::1]')).toMatchObject({ host: '::1', port: 587, isLoopback: true })
    for (const wrong of [
      '',
      'https://u:geheim@host',
      'smtp.example.com:465',
      'smtps://u:geheim@',
    ]) {
      expect(() => mailServer(wrong)).toThrow(/is not the address of a mail server/)
      expect(() => mailServer(wrong)).not.toThrow(/geheim/)
    }
  })
})

it('a notice names the machine and the data directory it is about: in words, to Slack, for programs', () => {
  const notice = sentFrom(NOTICE, { host: 'batch-3', dataDir: '/srv/jobtide' })
  expect(plainText(notice.paragraphs)).toMatch(/\n→ Make room\.\nbatch-3, \/srv\/jobtide\n$/)
  expect(JSON.stringify(slackBody(notice))).toContain('batch-3, /srv/jobtide')
  expect(notice.document).toMatchObject({ host: 'batch-3', data_dir: '/srv/jobtide' })
})
