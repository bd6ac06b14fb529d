/** Short names for what the rows and documents that Jobtide prints hold, as schemas. */

import { z } from 'zod'

export const text = z.string()
export const flag = z.boolean()
export const count = z.int().nonnegative()
export const amount = z.number()
export const instant = text.meta({ format: 'date-time' })
export const list = <T extends z.ZodType>(type: T) => z.array(type)
export const rows = <T extends z.ZodRawShape>(keys: T) => list(z.object(keys))
export const orNull = <T extends z.ZodType>(type: T) => type.nullable()

type Names<S extends string> = S extends `${infer First} ${infer Rest}` ? First | Names<Rest> : S

/** Fields of one type, by their names with blanks between. */
export function fields<T extends z.ZodType, const S extends string>(type: T, names: S) {
  return Object.fromEntries(names.split(' ').map((name) => [name, type])) as Record<Names<S>, T>
}
