import { expect, it } from 'vitest'
import { writersOf } from '../../src/support/file-modes.ts'

const OWN = { uid: 1000, gid: 1000 }
const ROOT = { uid: 0, gid: 0 }

it.each([
  ['own, 0600', OWN, { uid: 1000, gid: 1000, mode: 0o600 }, 'none'],
  ['own, its own group may write', OWN, { uid: 1000, gid: 1000, mode: 0o664 }, 'none'],
  ['own, another group may read', OWN, { uid: 1000, gid: 50, mode: 0o640 }, 'none'],
  ['own, another group may write', OWN, { uid: 1000, gid: 50, mode: 0o620 }, 'group'],
  ['own, all may write', OWN, { uid: 1000, gid: 1000, mode: 0o602 }, 'all'],
  ['of root, as containers mount secrets', OWN, { uid: 0, gid: 1000, mode: 0o440 }, 'none'],
  ['of root, its group may write', OWN, { uid: 0, gid: 0, mode: 0o664 }, 'group'],
  ['of another, whatever its mode', OWN, { uid: 1001, gid: 1000, mode: 0o400 }, 'another'],
  ['of root, for root', ROOT, { uid: 0, gid: 0, mode: 0o660 }, 'none'],
  ['of another, for root', ROOT, { uid: 1000, gid: 0, mode: 0o600 }, 'another'],
  ['of another, all may write, for root', ROOT, { uid: 1000, gid: 1000, mode: 0o666 }, 'another'],
] as const)('a file %s: %s may write it', (_, account, file, writers) => {
  expect(writersOf(file, account)).toBe(writers)
})
