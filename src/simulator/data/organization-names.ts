/** Parts of made-up organisation names: a beginning, a trade, and the legal form of the country. */

export const BEGINNINGS: readonly string[] = (
  'Alder Amber Arbor Atlas Aurora Basalt Beacon Birch Bright Cedar Cinder Clover Cobalt Comet Coral Crane Delta Dune ' +
  'Ember Falcon Fjord Flint Garnet Granite Harbour Hazel Heron Indigo Iris Ivory Juniper Kestrel Lantern Larch Linden ' +
  'Lumen Maple Marble Meridian Mica Monsoon Nimbus North Nova Oak Onyx Opal Orchard Osprey Pebble Pine Polar Prairie ' +
  'Quartz Quill Raven Reef Ridge Rowan Saffron Sable Sequoia Slate Solstice Sparrow Summit Tarn Tidal Topaz Tundra Umber ' +
  'Vector Verdant Violet Walnut Willow Zephyr'
).split(' ')

export const TRADES: readonly string[] = (
  'Software Analytics Systems Logistics Foods Energy Health Pharma Bank Insurance Capital Media Motors Aerospace Retail ' +
  'Robotics Telecom Mobility Payments Security Cloud Materials Chemicals Textiles Travel Labs Learning Games Housing ' +
  'Partners Consulting Foundation Interactive Semiconductors Water'
).split(' ')

/** Legal forms by country code; where a country is missing, names have none. */
export const LEGAL_FORMS: Readonly<Record<string, readonly string[]>> = {
  US: ['Inc.', 'LLC', 'Corp.'],
  GB: ['Ltd', 'plc'],
  CA: ['Inc.', 'Ltd.'],
  DE: ['GmbH', 'AG', 'SE', 'GmbH & Co. KG'],
  AT: ['GmbH', 'AG'],
  CH: ['AG', 'GmbH'],
  FR: ['SAS', 'SA'],
  BE: ['SA', 'SRL'],
  ES: ['S.L.', 'S.A.'],
  MX: ['S.A. de C.V.'],
  AR: ['S.A.'],
  BR: ['Ltda.', 'S.A.'],
  PT: ['Lda.', 'S.A.'],
}
