/** Intercepts the calls of an object. */

type Call = (name: string, first: unknown, work: () => unknown) => Promise<unknown>

/** An object whose asynchronous methods all go through `call`, with their name and first argument. */
export function through<T extends object>(object: T, call: Call): T {
  return new Proxy(object, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      if (name === 'urlOf' || name === 'localPath') return member.bind(target) as unknown
      return async (...values: unknown[]) =>
        call(String(name), values[0], () => Reflect.apply(member, target, values) as unknown)
    },
  })
}
