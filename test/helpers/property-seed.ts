/** Runs before every test file: sets the seed of its properties. fast-check prints the seed of a failure. */

import fc from 'fast-check'
import { seedOf } from './tier.ts'

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: seedOf('JOBTIDE_PROPERTY_SEED') })
