/** Measures wall and CPU time. */

export interface Took {
  readonly seconds: number
  /** User and system time of this process, all threads together. */
  readonly cpuSeconds: number
}

export async function timed(work: () => Promise<unknown>): Promise<Took> {
  const [began, before] = [performance.now(), process.cpuUsage()]
  await work()
  const { user, system } = process.cpuUsage(before)
  return { seconds: (performance.now() - began) / 1_000, cpuSeconds: (user + system) / 1e6 }
}

export function together(one: Took, other: Took): Took {
  return {
    seconds: one.seconds + other.seconds,
    cpuSeconds: one.cpuSeconds + other.cpuSeconds,
  }
}

/** Prints a line with a time, and its ratio to the floor. */
export function print(name: string, took: Took, floor: Took): void {
  const ratio = (of: keyof Took) => (took[of] / floor[of]).toFixed(2)
  process.stdout.write(
    `${name.padEnd(36)} ${took.cpuSeconds.toFixed(2).padStart(8)} s of CPU ${ratio('cpuSeconds')} P ` +
      `${took.seconds.toFixed(2).padStart(8)} s by the clock ${ratio('seconds')} P\n`,
  )
}
