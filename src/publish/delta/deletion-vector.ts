/** Deleted rows of one file as the Delta log holds them: inline, so that no further object is needed. Pure. */

import { PublishError } from '../errors.ts'
import type { DeletionVector } from './actions.ts'
import { decodePositions, encodePositions } from './row-positions.ts'
import { decodeZ85, encodeZ85 } from './z85.ts'

const INLINE = 'i'

/** The deletion vector of `positions`: row numbers from 0, ascending, at least one. */
export function deletionVectorOf(positions: readonly number[]): DeletionVector {
  const bytes = encodePositions(positions)
  return {
    storageType: INLINE,
    pathOrInlineDv: encodeZ85(bytes),
    sizeInBytes: bytes.length,
    cardinality: positions.length,
  }
}

/**
 * The rows that a deletion vector takes away, ascending. `where` names it in the message.
 * @throws PublishError when it is damaged, or stands in a file, where Jobtide puts none
 */
export function deletedPositions(vector: DeletionVector, where: string): number[] {
  const { storageType, pathOrInlineDv, sizeInBytes, cardinality } = vector
  try {
    if (storageType !== INLINE) throw new RangeError('it stands in a file of its own')
    const positions = decodePositions(decodeZ85(pathOrInlineDv, sizeInBytes))
    if (positions.length === cardinality) return positions
    throw new RangeError(`it holds ${positions.length} rows where it says ${cardinality}`)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new PublishError(`the deletion vector of ${where} is not Jobtide's: ${error.message}`, {
      hint: 'Remove the folder _delta_log of that table: the next publish writes it anew.',
      cause: error,
    })
  }
}
