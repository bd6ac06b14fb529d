/** Bounded parallel work, so that waits for disks and servers overlap. */

/** At most `limit` at once. After the first failure nothing new begins; it is thrown when all have ended. */
export async function atOnce<T>(
  items: Iterable<T>,
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = items[Symbol.iterator]()
  let failed: { readonly error: unknown } | null = null
  const worker = async () => {
    for (let next = left.next(); failed === null && next.done !== true; next = left.next()) {
      await work(next.value).catch((error: unknown) => {
        failed ??= { error }
      })
    }
  }
  await Promise.all(Array.from({ length: limit }, worker))
  if (failed !== null) throw (failed as { error: unknown }).error
}
