/**
 * What happened to one person: the changes that can be seen, and the truth behind them, which tells what was never
 * seen from what never was: the roles they held and the moves from one employer to the next.
 */

import type { Office } from './made-up.ts'
import type { EventType } from './events.ts'

export interface Change {
  readonly type: EventType
  readonly organization: number
  /** Milliseconds since 1970 UTC. */
  readonly at: number
  readonly title: string
  readonly previousTitle: string | null
}

/** What someone is at an organisation. */
export interface Post {
  readonly organization: number
  readonly title: string
  /** Held beside a main job. */
  readonly isSide?: boolean
  readonly office?: Office
  readonly isInterim?: boolean
}

/** A post with its time. */
export interface Role extends Post {
  /** Null where no event tells it. */
  readonly from: number | null
  /** Null where it goes on, or no event tells it. */
  until: number | null
}

export interface Move {
  readonly from: Role
  readonly to: Role
  /** The employer was bought, renamed or split: the person stayed in their job. */
  readonly isTransfer: boolean
}

export class History {
  readonly changes: Change[] = []
  readonly roles: Role[] = []
  readonly moves: Move[] = []

  /** A role that begins without an event: before the world does, or unseen, as is the end of the one before it. */
  hold(post: Post): Role {
    return this.#begin(post, null)
  }

  join(post: Post, at: number): Role {
    this.#add('joined', post, at, null)
    return this.#begin(post, at)
  }

  leave(role: Role, at: number): void {
    this.#add('left', role, at, null)
    role.until = at
  }

  /** The role becomes another one at the same organisation. */
  changeTitle(role: Role, post: Post, at: number): Role {
    this.#add('title_change', post, at, role.title)
    // One that was left already, as told, ended then.
    role.until ??= at
    return this.#begin(post, at)
  }

  move(from: Role, to: Role, isTransfer = false): void {
    this.moves.push({ from, to, isTransfer })
  }

  #begin(post: Post, from: number | null): Role {
    const role = { ...post, from, until: null }
    this.roles.push(role)
    return role
  }

  #add(type: EventType, { organization, title }: Post, at: number, previousTitle: string | null) {
    this.changes.push({ type, organization, at, title, previousTitle })
  }
}
