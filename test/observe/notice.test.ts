/** How Slack renders foreign text. */

import { slackBody } from '../../src/observe/messages.ts'
import { describe, expect, it } from 'vitest'

interface Body {
  readonly text: string
  readonly blocks: readonly { readonly text: { readonly type: string; readonly text: string } }[]
}

const linesOf = (text: string, link: string | null = null) => {
  const { text: summary, blocks } = slackBody({
    subject: 'Jobtide nightly: 1 job change',
    paragraphs: [[{ text, link }]],
  }) as Body
  return [summary, blocks[1]?.text.text]
}

describe('a name in a message to Slack', () => {
  it.each([
    ['*bold*', '\u2217bold\u2217'],
    ['Ada _Lovelace_', 'Ada \u02CDLovelace\u02CD'],
    ['~gone~', '\u223Cgone\u223C'],
    ['```all that follows', '\u02CB\u02CB\u02CBall that follows'],
    ['> said', '\u203A said'],
    ['Ada :fire:', 'Ada \uA789fire:'],
    ['<http://evil.example|Acme>', '&lt;http://evil.example|Acme&gt;'],
    ['<!channel> <@U123>', '&lt;!channel&gt; &lt;@U123&gt;'],
    ['&lt;!here&gt;', '&amp;lt;!here&amp;gt;'],
  ])('%s formats nothing, links nothing and mentions no one', (name, shown) => {
    const [summary, line] = linesOf(name)
    expect(line).toBe(shown)
    expect(summary).toBe(`Jobtide nightly: 1 job change: ${shown.replace('\u203A', '&gt;')}`)
  })

  it('keeps text that formats nothing: paths, times, addresses and a command in backticks', () => {
    for (const plain of [
      'batch-3, /srv/my_data/jobtide',
      'no run since 12:30:00Z',
      'see https://example.com/a_b~c',
      'Run `jobtide doctor`.',
    ]) {
      expect(linesOf(plain)[1]).toBe(plain)
    }
  })

  it('does not end its link', () => {
    expect(linesOf('Ada', 'https://network.example/in/ada|x>*b*')[1]).toBe(
      'Ada <https://network.example/in/ada%7Cx&gt;*b*|profile>',
    )
  })
})
