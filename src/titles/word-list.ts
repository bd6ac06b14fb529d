/** How the taxonomy writes long lists of words: one text, separated by commas, over as many lines as it takes. */

import { z } from 'zod'

/** Words or phrases, separated by commas. */
export const wordList = z.string().transform((text, context): string[] => {
  const words = text.split(',').map((word) => word.trim().replace(/\s+/g, ' '))
  if (words.includes('')) {
    context.addIssue({ code: 'custom', message: 'there is an empty word between two commas' })
  }
  return words
})
