/** `digest`: prints a summary of the report in at most 30 lines, for a terminal, a message or a mail. */

import { plainText, slackBody } from '../observe/notice.ts'
import { DIGEST_CHANGES, headDigest, type DigestPart } from '../report/digest.ts'
import { readHead } from '../report/read-report.ts'
import { chosenWindow, windowText, type WindowChoice } from '../report/window.ts'
import { tellSkipped } from '../plan/skipped-lines.ts'
import { readOrganizations } from '../run/organizations-file.ts'
import { EXIT } from '../support/errors.ts'
import { lineText, type Line } from '../support/text.ts'
import type { Context } from './context.ts'
import type { Result } from './report.ts'
import type { DigestFormat } from './options.ts'
import { whileReading } from './reading.ts'

interface DigestOptions extends WindowChoice {
  readonly organizations?: string
  readonly format: DigestFormat
}

export async function digestCommand(context: Context, options: DigestOptions): Promise<Result> {
  const { clock, output, stop } = context
  const window = chosenWindow(options, clock.now())
  const file = options.organizations
  const read = file === undefined ? null : await readOrganizations(file)
  tellSkipped(context.logger, read?.skipped ?? [])
  const list = read?.organizations ?? null
  const data = await whileReading(context, (warehouse) =>
    readHead(warehouse, window, list, DIGEST_CHANGES),
  )
  const { parts, ...shown } = headDigest(data, reportCommandOf(options))
  const title = `job changes of ${windowText(window)}`
  if (!output.json && options.format !== 'text') {
    const notice = { subject: title, paragraphs: paragraphsOf(parts) }
    const text =
      options.format === 'slack'
        ? `${JSON.stringify(slackBody(notice))}\n`
        : `${title}\n\n${plainText(notice.paragraphs)}`
    await output.stream(text, stop)
    return EXIT.done
  }
  return {
    title,
    sections: [
      parts.map(({ label, lines }) => {
        const texts = lines.map(lineText)
        return [label, texts.length === 1 ? (texts[0] ?? '') : texts]
      }),
    ],
    values: {
      fromAt: new Date(window.from),
      toAt: new Date(window.to),
      changes: data.counts,
      ...shown,
      credits: data.freshness.credits,
    },
  }
}

/** The command that shows the same window and list as a page. */
function reportCommandOf({ week, days, from, to, organizations }: DigestOptions): string {
  const given = { days, from, to, organizations }
  const options = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, shellWord(String(value))],
  )
  return ['jobtide report', ...(week === true ? ['--week'] : []), ...options].join(' ')
}

function shellWord(text: string): string {
  return /^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

const headOf = (label: string) => (label.endsWith('?') ? label : `${label}:`)

/** Joins the parts of one line; puts each other part under its label. */
function paragraphsOf(parts: readonly DigestPart[]): Line[][] {
  const single = parts.filter(({ lines }) => lines.length === 1)
  const longer = parts.filter(({ lines }) => lines.length > 1)
  const labelled = single.flatMap(({ label, lines }) =>
    lines.map(({ text, link }) => ({ text: `${headOf(label)} ${text}`, link })),
  )
  return [
    labelled,
    ...longer.map(({ label, lines }) => [{ text: headOf(label), link: null }, ...lines]),
  ]
}
