// Shows the list of tables, or the one that the address names, and searches. Without it the page shows everything.
'use strict'
;(() => {
  const list = document.querySelector('nav')
  const search = document.querySelector('.filter')
  const input = search.querySelector('input')
  const shown = search.querySelector('output')
  const tables = [...document.querySelectorAll('section.table')]
  const title = document.title
  const entries = [...list.querySelectorAll('li')].map((item) => {
    const [link] = item.getElementsByTagName('a')
    const table = document.getElementById(link.textContent)
    const columns = [...table.querySelectorAll('tbody tr')].map((row) => ({
      name: row.cells[0].firstChild.textContent.trim(),
      text: row.textContent.toLowerCase(),
    }))
    const head = `${item.textContent} ${table.querySelector('h2 + p').textContent}`.toLowerCase()
    return { item, columns, head, text: head + columns.map(({ text }) => text).join(' ') }
  })

  const find = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
    let count = 0
    for (const { item, columns, head, text } of entries) {
      const isFound = words.every((word) => text.includes(word))
      item.hidden = !isFound
      if (isFound) count += 1
      item.querySelector('.hits')?.remove()
      const more = words.filter((word) => !head.includes(word))
      const hits = columns.filter((one) => more.some((word) => one.text.includes(word)))
      if (!isFound || hits.length === 0) continue
      const line = document.createElement('span')
      line.className = 'hits'
      const names = hits.slice(0, 5).map(({ name }) => name)
      line.textContent = `in ${names.join(', ')}${hits.length > 5 ? ' …' : ''}`
      item.append(line)
    }
    for (const group of list.querySelectorAll('section'))
      group.hidden = group.querySelector('li:not([hidden])') === null
    shown.textContent = words.length === 0 ? '' : `${count} of ${entries.length} tables`
  }

  const show = () => {
    const id = decodeURIComponent(location.hash.slice(1))
    const one = tables.find((table) => table.id === id)
    list.hidden = one !== undefined
    for (const table of tables) table.hidden = table !== one
    document.title = one === undefined ? title : `${id} – ${title}`
    if (one === undefined) return
    window.scrollTo(0, 0)
    one.querySelector('h2').focus({ preventScroll: true })
  }

  input.addEventListener('input', () => {
    if (list.hidden) location.hash = ''
    find()
  })
  addEventListener('hashchange', show)
  search.hidden = false
  // A browser keeps what was typed over a reload.
  find()
  show()
})()
