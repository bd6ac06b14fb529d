/** Countries and cities where made-up people live, with the share of organisations at home in each. */

import type { Language } from './names.ts'

/** A country of the made-up world. */
export interface Country {
  readonly code: string
  readonly language: Language
  /** Share of organisations at home here; the shares add up to 100. */
  readonly share: number
  readonly cities: readonly string[]
}

export const COUNTRIES: readonly Country[] = [
  {
    code: 'US',
    language: 'en',
    share: 28,
    cities: ['New York', 'San Francisco', 'Austin', 'Chicago', 'Boston', 'Seattle', 'Denver'],
  },
  { code: 'GB', language: 'en', share: 11, cities: ['London', 'Manchester', 'Leeds', 'Edinburgh'] },
  { code: 'CA', language: 'en', share: 4, cities: ['Toronto', 'Vancouver', 'Ottawa'] },
  { code: 'IE', language: 'en', share: 2, cities: ['Dublin', 'Cork'] },
  {
    code: 'DE',
    language: 'de',
    share: 14,
    cities: ['Berlin', 'München', 'Hamburg', 'Köln', 'Frankfurt am Main', 'Stuttgart', 'Leipzig'],
  },
  { code: 'AT', language: 'de', share: 2, cities: ['Wien', 'Graz', 'Linz'] },
  { code: 'CH', language: 'de', share: 2, cities: ['Zürich', 'Basel', 'Bern'] },
  {
    code: 'FR',
    language: 'fr',
    share: 12,
    cities: ['Paris', 'Lyon', 'Toulouse', 'Nantes', 'Lille'],
  },
  { code: 'BE', language: 'fr', share: 2, cities: ['Bruxelles', 'Liège'] },
  { code: 'ES', language: 'es', share: 7, cities: ['Madrid', 'Barcelona', 'Valencia', 'Málaga'] },
  {
    code: 'MX',
    language: 'es',
    share: 4,
    cities: ['Ciudad de México', 'Guadalajara', 'Monterrey'],
  },
  { code: 'AR', language: 'es', share: 2, cities: ['Buenos Aires', 'Córdoba'] },
  {
    code: 'BR',
    language: 'pt',
    share: 8,
    cities: ['São Paulo', 'Rio de Janeiro', 'Belo Horizonte', 'Curitiba'],
  },
  { code: 'PT', language: 'pt', share: 2, cities: ['Lisboa', 'Porto', 'Braga'] },
]
