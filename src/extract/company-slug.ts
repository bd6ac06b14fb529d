/** The part of a company's URL that names it. Pure. */

/** The slug in a company URL, in lower case: what follows `/company/`, else the last part of the path. */
export function companySlug(urlOrSlug: string): string {
  const [path = ''] = urlOrSlug.trim().split(/[?#]/, 1)
  const parts = path.split('/').filter((part) => part !== '')
  const afterCompany = parts[parts.indexOf('company') + 1]
  const slug = parts.includes('company') ? (afterCompany ?? parts.at(-1)) : parts.at(-1)
  return decoded(slug ?? '').toLowerCase()
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
