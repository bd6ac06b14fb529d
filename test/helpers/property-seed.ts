/** Runs before every test file: the seed of its properties, of which fast-check prints the one that failed. */

import fc from 'fast-check'
import { seedOf } from './tier.ts'

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: seedOf('JOBTIDE_PROPERTY_SEED') })
