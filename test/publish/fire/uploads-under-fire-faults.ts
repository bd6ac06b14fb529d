/** What goes wrong with an upload, drawn at random. */

import { pick, pickWeighted, type Random } from '../../../src/simulator/random.ts'
import type { S3Fault } from '../../helpers/s3-faults.ts'

/** Everything that can go wrong, and how often. */
const WEIGHTS = {
  '403': 3,
  '409': 2,
  '500': 4,
  '503 SlowDown': 4,
  reset: 4,
  'reset after it was done': 5,
  slow: 2,
  'cut in the body': 3,
  '200 with an error': 3,
  'keys not removed': 2,
  'kill before a request': 7,
  'kill after a request': 7,
} as const

/** A name of what goes wrong. */
export type Trouble = keyof typeof WEIGHTS

/** What goes wrong with one upload. */
export interface Draw {
  /** What it counts as. */
  readonly trouble: Trouble
  readonly faults: readonly S3Fault[]
  /** From some request on nothing passes. */
  readonly isKill: boolean
}

// The SDK makes four attempts of a request: once and twice is repeated, more is a failure.
const TIMES = [1, 1, 2, 4, 4, 8, 200]
const OPERATIONS = [
  'PutObject',
  'GetObject',
  'HeadObject',
  'ListObjectsV2',
  'DeleteObjects',
  'ListMultipartUploads',
] as const
const PART_OPERATIONS = [
  'CreateMultipartUpload',
  'UploadPart',
  'CompleteMultipartUpload',
  'AbortMultipartUpload',
] as const
const PLACES = ['latest.json', '_delta_log', 'in-flight', 'sweep.json', 'manifest.json', '.parquet']

/** What goes wrong with an upload in parts, each so often that the upload fails. */
export const failuresInParts: readonly Draw[] = [
  {
    trouble: '200 with an error',
    faults: [{ operation: 'CompleteMultipartUpload', times: 200, action: 'error-in-200' }],
    isKill: false,
  },
  {
    trouble: '500',
    faults: [{ operation: 'UploadPart', nth: 2, times: 200, action: 'status', status: 500 }],
    isKill: false,
  },
  {
    trouble: '403',
    faults: [{ operation: 'CompleteMultipartUpload', action: 'status', status: 403 }],
    isKill: false,
  },
  // Also the request to forget the parts: the sweep of another day has to.
  {
    trouble: 'reset',
    faults: [
      { operation: 'CompleteMultipartUpload', times: 200, action: 'reset' },
      { operation: 'AbortMultipartUpload', times: 200, action: 'reset' },
    ],
    isKill: false,
  },
]

/**
 * Draws 1 to 3 things that go wrong.
 * @param requests about how many there will be
 * @param inParts whether a file goes up in parts
 */
export function drawFaults(random: Random, requests: number, inParts: boolean): Draw {
  const weights = inParts ? WEIGHTS : { ...WEIGHTS, '200 with an error': 0 }
  const trouble: Trouble = pickWeighted(random, weights)
  const faults = [...faultOf(trouble, random, requests, inParts)]
  while (random() < 0.25 && faults.length < 3) {
    const other: Trouble = pickWeighted(random, weights)
    if (!isKill(other)) faults.push(...faultOf(other, random, requests, inParts))
  }
  // The one that ends everything decides alone.
  return { trouble, faults, isKill: isKill(trouble) }
}

function isKill(trouble: Trouble): boolean {
  return trouble === 'kill before a request' || trouble === 'kill after a request'
}

function faultOf(
  trouble: Trouble,
  random: Random,
  requests: number,
  inParts: boolean,
): readonly S3Fault[] {
  const nth = 1 + Math.floor(random() * requests)
  const few = 1 + Math.floor(random() * 3)
  const times = pick(random, TIMES)
  const target = targetOf(random, nth, inParts)
  const forever = { operation: 'any', times: Number.POSITIVE_INFINITY, action: 'reset' } as const
  switch (trouble) {
    case '403':
      return [{ ...target, times, action: 'status', status: 403 }]
    case '409':
      return [{ ...target, times, action: 'status', status: 409 }]
    case '500':
      return [{ ...target, times, action: 'status', status: 500 }]
    case '503 SlowDown':
      return [{ ...target, times, action: 'status', status: 503 }]
    case 'reset':
      return [{ ...target, times, action: 'reset' }]
    case 'reset after it was done':
      return [{ ...target, times, action: 'reset-after-commit' }]
    case 'slow':
      return [{ ...target, action: 'slow', delayMs: 20 + Math.floor(random() * 150) }]
    case 'cut in the body':
      return [{ operation: 'GetObject', nth: few, times, action: 'cut' }]
    case '200 with an error':
      return [{ operation: 'CompleteMultipartUpload', times, action: 'error-in-200' }]
    case 'keys not removed': {
      const failing = pick(random, ['in-flight', 'tables', 'snapshots', 'probe'])
      const code = pick(random, ['AccessDenied', 'InternalError'] as const)
      return [{ operation: 'DeleteObjects', times, action: 'refuse-keys', failing, code }]
    }
    case 'kill before a request':
      return [{ ...forever, nth }]
    case 'kill after a request':
      return [
        { operation: 'any', nth, action: 'reset-after-commit' },
        { ...forever, nth: nth + 1 },
      ]
  }
}

/** Any request, one of an operation, one of a key, or, where there are, one of an upload in parts. */
function targetOf(random: Random, nth: number, inParts: boolean) {
  if (inParts && random() < 0.4) {
    return { operation: pick(random, PART_OPERATIONS), nth: 1 + Math.floor(random() * 3) } as const
  }
  const kind = random()
  if (kind < 0.4) return { operation: 'any', nth } as const
  const few = 1 + Math.floor(random() * 6)
  if (kind < 0.7) return { operation: 'any', key: pick(random, PLACES), nth: few } as const
  return { operation: pick(random, OPERATIONS), nth: few } as const
}
