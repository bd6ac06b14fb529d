/** A strict reader of Prometheus's text format, with the rules of `promtool check metrics` about names. */

/** The metrics by name: kind and samples, each by its labels as written. */
export type Scraped = Map<string, { kind: string; samples: Map<string, number> }>

const NAME = /^[a-z][a-z\d_]*$/
const SAMPLE = /^([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)$/
const LABELS =
  /^\{[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\n"])*"(?:,[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\n"])*")*\}$/
const VALUE = /^-?\d+(?:\.\d+)?(?:e[+-]\d+)?$/

/** Reads a text. @throws Error that names an invalid line */
export function parsePrometheus(text: string): Scraped {
  const found: Scraped = new Map()
  if (!text.endsWith('\n')) throw new Error('the last line has no end')
  const lines = text.slice(0, -1).split('\n')
  let name = ''
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? ''
    const refuse = (why: string) => new Error(`line ${at + 1}: ${why}: ${line}`)
    const help = /^# HELP (\S+) (.+)$/.exec(line)
    if (help !== null) {
      name = help[1] ?? ''
      const kind = new RegExp(`^# TYPE ${name} (counter|gauge)$`).exec(lines[(at += 1)] ?? '')?.[1]
      if (kind === undefined) throw refuse('no TYPE follows')
      if (found.has(name)) throw refuse('said twice')
      if (!NAME.test(name)) throw refuse('no name of the field')
      if (name.endsWith('_total') !== (kind === 'counter')) throw refuse('_total is for counters')
      if (/_(?:count|sum|bucket)$|milli|_(?:ms|kb|mb)$/.test(name)) throw refuse('no base unit')
      if (!/^(?:[^\\]|\\[\\n])+$/.test(help[2] ?? '')) throw refuse('an unknown escape')
      found.set(name, { kind, samples: new Map() })
      continue
    }
    const [, of, labels = '', value = ''] = SAMPLE.exec(line) ?? []
    const metric = found.get(name)
    if (of === undefined || of !== name || metric === undefined) throw refuse('of no metric above')
    if (labels !== '' && !LABELS.test(labels)) throw refuse('labels')
    if (!VALUE.test(value)) throw refuse('no number')
    if (metric.samples.has(labels)) throw refuse('the same series twice')
    if (metric.kind === 'counter' && Number(value) < 0) throw refuse('a counter below 0')
    metric.samples.set(labels, Number(value))
  }
  const empty = [...found].find(([, { samples }]) => samples.size === 0)
  if (empty !== undefined) throw new Error(`${empty[0]} has no sample`)
  return found
}
