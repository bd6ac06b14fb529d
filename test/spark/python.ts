/** A Python with PySpark for the tests of Spark builds, and the command that starts a job with it. */

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { packageRoot } from '../../src/support/assets.ts'

const PYSPARK = 'pyspark==4.0.1'
const DELTA = 'io.delta:delta-spark_2.13:4.0.0'
/** Kept between runs: it is 400 MB. */
const OWN = join(packageRoot, 'node_modules', '.cache', 'jobtide-spark')

/** The Python that JOBTIDE_SPARK_PYTHON names; else one with PySpark from its registry. Null, with the reason, where there is none. */
export function findPython(): { readonly python: string | null; readonly why: string } {
  const named = process.env['JOBTIDE_SPARK_PYTHON']
  if (named !== undefined) return { python: resolve(named), why: '' }
  if (process.env['JOBTIDE_SOAK'] !== '1')
    return { python: null, why: 'JOBTIDE_SPARK_PYTHON names no Python' }
  try {
    execFileSync('java', ['-version'], { stdio: 'ignore' })
    const python = join(OWN, 'bin', 'python')
    if (!existsSync(join(OWN, 'bin', 'spark-submit'))) {
      execFileSync('python3', ['-m', 'venv', OWN], { stdio: 'ignore' })
      execFileSync(python, ['-m', 'pip', 'install', '--quiet', PYSPARK], { stdio: 'ignore' })
    }
    return { python, why: '' }
  } catch (error) {
    return { python: null, why: `no Java, Python or registry: ${String(error).split('\n', 1)[0]}` }
  }
}

const SETTINGS = {
  'spark.ui.enabled': 'false',
  // The machine that runs the tests may stop for minutes.
  'spark.executor.heartbeatInterval': '1000s',
  'spark.network.timeout': '7200s',
  'spark.log.level': 'ERROR',
}

// These optimisations cost more than they save on few rows.
const FOR_FEW_ROWS = {
  'spark.sql.shuffle.partitions': '1',
  'spark.sql.adaptive.enabled': 'false',
  'spark.sql.codegen.wholeStage': 'false',
  'spark.sql.codegen.factoryMode': 'NO_CODEGEN',
  'spark.driver.extraJavaOptions': '-XX:TieredStopAtLevel=1',
  'spark.executor.extraJavaOptions': '-XX:TieredStopAtLevel=1',
}

/** The lines of a pipeline file for a build by a small Spark. JOBTIDE_SPARK_MASTER replaces `local[2]`. */
export function submitCommand(python: string, isLarge = false): string[] {
  const settings = { ...SETTINGS, ...(isLarge ? {} : FOR_FEW_ROWS) }
  return [
    join(dirname(python), 'spark-submit'),
    '--master',
    process.env['JOBTIDE_SPARK_MASTER'] ?? 'local[2]',
    '--driver-memory',
    isLarge ? '6g' : '2g',
    '--packages',
    DELTA,
    ...Object.entries(settings).flatMap(([name, value]) => ['--conf', `${name}=${value}`]),
    join(packageRoot, 'spark', 'job.py'),
  ]
}

/** The environment of a command that starts Spark: its scripts look for Python in PATH. */
export function environmentOf(python: string): Record<string, string> {
  return {
    PATH: `${dirname(python)}${delimiter}${process.env['PATH'] ?? ''}`,
    HOME: process.env['HOME'] ?? '/',
    SPARK_LOCAL_IP: '127.0.0.1',
  }
}
