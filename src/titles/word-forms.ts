/**
 * Forms of one word that the lists hold in another: feminine and plural endings, umlauts written as two letters. Offers forms to
 * try; whether one is a word is for the lists to say.
 */

const ENDINGS: readonly (readonly [ending: string, replacements: readonly string[]])[] = [
  // German: Beraterin, Beraterinnen, Ärztin, Kauffrau.
  ['innen', ['']],
  ['in', ['', 'e']],
  ['frau', ['mann']],
  // French: directrice, vendeuse, infirmière, technicienne, chargée, adjointe.
  ['trice', ['teur', 'tor', 'tore']],
  ['trices', ['teur', 'tor', 'tore']],
  ['euse', ['eur']],
  ['euses', ['eur']],
  ['eure', ['eur']],
  ['eures', ['eur']],
  ['iere', ['ier']],
  ['ieres', ['ier', 'iere']],
  ['enne', ['en']],
  ['ennes', ['en']],
  ['ees', ['e']],
  ['ee', ['e']],
  ['ive', ['if']],
  ['elle', ['el']],
  ['es', ['e', '']],
  ['e', ['']],
  // Spanish, Portuguese, Italian: ingeniera, coordinadora, engenheira; plurals.
  ['ora', ['or']],
  ['oras', ['or']],
  ['ores', ['or']],
  ['as', ['a', 'o']],
  ['a', ['o', '', 'e']],
  ['os', ['o']],
  // English plurals, Polish and Czech feminine forms.
  ['s', ['']],
  ['ka', ['']],
]
const SHORTEST_WORD = 5
const SHORTEST_FORM = 4

/** A word with ae, oe and ue as a, o and u: "Geschaeftsfuehrer", where the lists hold umlauts without their dots. */
export function withoutWrittenUmlauts(word: string): string {
  return word.replaceAll('ae', 'a').replaceAll('oe', 'o').replaceAll('ue', 'u')
}

/** Forms of `word` to look up, the likeliest first; with `itself` the word is the first of them. */
export function baseForms(word: string, itself = false): string[] {
  const forms = itself ? [word] : []
  if (word.length < SHORTEST_WORD) return forms
  for (const [ending, replacements] of ENDINGS) {
    if (!word.endsWith(ending)) continue
    const stem = word.slice(0, -ending.length)
    for (const replacement of replacements) {
      const form = stem + replacement
      if (form.length >= SHORTEST_FORM && form !== word) forms.push(form)
    }
  }
  const umlauts = withoutWrittenUmlauts(word)
  if (umlauts !== word) forms.push(umlauts, umlauts.replace(/in$/, ''))
  return forms
}
