/** The text format of Prometheus. Pure. */

export interface Metric {
  /** Without prefix and `_total`, such as `last_run_duration_seconds`. */
  readonly name: string
  readonly kind: 'counter' | 'gauge'
  readonly help: string
  readonly samples: readonly Sample[]
}

export type Labels = Readonly<Record<string, string>>

export interface Sample {
  readonly labels: Labels
  /** Finite. */
  readonly value: number
}

/** The content type of {@link prometheusText}. */
export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** The text format of Prometheus; a metric without a sample is left out. */
export function prometheusText(metrics: readonly Metric[]): string {
  return metrics
    .filter(({ samples }) => samples.length > 0)
    .map((metric) => {
      const name = `jobtide_${metric.name}${metric.kind === 'counter' ? '_total' : ''}`
      const help = metric.help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
      const lines = metric.samples.map(
        ({ labels, value }) => `${name}${labelsText(labels)} ${value}\n`,
      )
      return `# HELP ${name} ${help}\n# TYPE ${name} ${metric.kind}\n${lines.join('')}`
    })
    .join('')
}

function labelsText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(value: string): string {
  return value
    .replaceAll('\\', '\\\\')
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', '\\n')
}
