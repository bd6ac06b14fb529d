/** `digest`: the head of a report in at most 30 lines of text, for a terminal, a message or a mail. */

import { linkTarget, shown } from '../report/html.ts'
import { readReport, type Change, type ReportData } from '../report/read-report.ts'
import { chosenWindow, windowText, type WindowChoice } from '../report/window.ts'
import { readOrganizations } from '../run/job.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import { countText, numberText } from '../support/numbers.ts'
import type { Context } from './context.ts'
import { whileReading } from './reading.ts'
import type { Fact } from './report.ts'
import { creditsText } from './text.ts'

const EXECUTIVES = 12
const ORGANIZATIONS = 5
const BURSTS = 4

export async function digestCommand(
  context: Context,
  options: WindowChoice & { readonly organizations?: string },
): Promise<ExitCode> {
  const { clock, output } = context
  const window = chosenWindow(options, clock.now())
  const file = options.organizations
  const list = file === undefined ? null : (await readOrganizations(file)).organizations
  const data = await whileReading(context, (warehouse) =>
    readReport(warehouse, window, list, EXECUTIVES),
  )
  const executives = data.changes.filter((one) => one.is_executive).slice(0, EXECUTIVES)
  const bursts = data.bursts.slice(0, BURSTS)
  output.report({
    title: `job changes of ${windowText(window)}`,
    sections: [
      [
        ...countFacts(data),
        executives.length > 0 && ['executives', executives.map(changeText)],
        data.organizations.length > 0 && ['most changes', organizationTexts(data)],
        bursts.length > 0 && [
          'bursts',
          bursts.map(
            (one) =>
              `${one.organization}: ${one.people} ${one.change}, usually ${one.usual} a week (week from ${one.week_from_on})`,
          ),
        ],
        missingFact(data),
        ['cost', `${creditsText(data.freshness.credits)} credits`],
        ['more', 'jobtide report'],
      ],
    ],
    values: {
      fromAt: new Date(window.from),
      toAt: new Date(window.to),
      changes: data.counts,
      executives,
      organizations: data.organizations.slice(0, ORGANIZATIONS),
      bursts,
      credits: data.freshness.credits,
    },
  })
  return EXIT.done
}

function countFacts({ counts }: ReportData): Fact[] {
  return counts.map((one) => [
    one.change,
    `${numberText(one.changes)} (${numberText(one.changes_before)} in the time before), ${countText(one.executives, 'executive')}`,
  ])
}

function changeText(one: Change): string {
  const who = shown(one.person_full_name) ?? 'name not known'
  const titles = [one.title_before, one.title_after].map(shown).filter((title) => title !== null)
  const places = [one.from_organization, one.to_organization].map(shown)
  const where = one.change === 'rose' ? [shown(one.organization)] : places
  const named = where.filter((place) => place !== null).join(' → ')
  const link = linkTarget(one.person_network_url)
  return `${who} ${one.change}: ${titles.join(' → ')}, ${named}${link === null ? '' : ` ${link}`}`
}

function organizationTexts({ organizations }: ReportData): string[] {
  return organizations
    .slice(0, ORGANIZATIONS)
    .map((one) => `${one.organization}: ${one.joined} joined, ${one.went} left, ${one.rose} rose`)
}

function missingFact({ coverage: [first] }: ReportData): Fact {
  const missing = (first?.organizations ?? 0) - (first?.whole ?? 0)
  const text = `${countText(missing, 'organisation')} not for the whole window: no change is no news there`
  return missing > 0 && ['read', text]
}
