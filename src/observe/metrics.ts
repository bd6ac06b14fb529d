/** Metrics as one list: text for Prometheus, instruments for OpenTelemetry. Pure. */

export interface Metric {
  /** Without prefix, unit and `_total`, such as `last_run_duration`. */
  readonly name: string
  readonly kind: 'counter' | 'gauge'
  /** Absent for a count. */
  readonly unit?: 'seconds' | 'bytes' | undefined
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
      const name = prometheusName(metric)
      const help = metric.help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
      const lines = metric.samples.map(
        ({ labels, value }) => `${name}${labelsText(labels)} ${value}\n`,
      )
      return `# HELP ${name} ${help}\n# TYPE ${name} ${metric.kind}\n${lines.join('')}`
    })
    .join('')
}

function prometheusName({ name, unit, kind }: Metric): string {
  return ['jobtide', name, unit, kind === 'counter' && 'total'].filter(Boolean).join('_')
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
