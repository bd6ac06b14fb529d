/** A part of a store as a store of its own: all that lies below a prefix. */

import { rmSync } from 'node:fs'
import { onDisk } from '../../support/errors.ts'
import { isPlainKey, type ObjectStore } from './object-store.ts'

/** @param prefix one segment of a key, without a slash */
export function prefixedStore(store: ObjectStore, prefix: string): ObjectStore {
  const at = (key: string) => `${prefix}/${key}`
  return {
    destination: `${store.destination}/${prefix}`,
    urlOf: (key) => store.urlOf(at(key)),
    localPath: (key) => store.localPath(at(key)),
    put: (key, bytes) => store.put(at(key), bytes),
    putFile: (key, path, signal) => store.putFile(at(key), path, signal),
    copy: (from, to, bytes) => store.copy(at(from), at(to), bytes),
    replace: (key, bytes, expected) => store.replace(at(key), bytes, expected),
    get: (key) => store.get(at(key)),
    download: (key, path, signal) => store.download(at(key), path, signal),
    head: (key) => store.head(at(key)),
    async list(under) {
      const found = await store.list(at(under))
      return found.map((object) => ({ ...object, key: object.key.slice(prefix.length + 1) }))
    },
    remove: (keys) => store.remove(keys.map(at)),
    purge: (what) => store.purge(what),
  }
}

/** Removes all below a folder, whatever wrote it. */
export async function removeFolder(store: ObjectStore, folder: string): Promise<void> {
  const path = store.localPath(folder)
  if (path !== null) return onDisk(path, () => rmSync(path, { recursive: true, force: true }))
  await store.remove((await store.list(`${folder}/`)).map(({ key }) => key).filter(isPlainKey))
}
