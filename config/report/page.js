// Sorting and filtering of the tables. Without it the page shows everything, in its first order.
'use strict'
;(() => {
  const tables = [...document.querySelectorAll('table[data-sortable]')]
  const rows = [...document.querySelectorAll('tr[data-organization]')]
  const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })

  const valueOf = (row, at) => {
    const cell = row.cells[at]
    return cell === undefined ? '' : (cell.dataset.value ?? cell.textContent.trim())
  }
  const compare = (a, b) => {
    const [x, y] = [Number(a), Number(b)]
    return a !== '' && b !== '' && !Number.isNaN(x) && !Number.isNaN(y)
      ? x - y
      : collator.compare(a, b)
  }
  const sort = (table, heading, at) => {
    const isAscending = heading.getAttribute('aria-sort') !== 'ascending'
    for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort')
    heading.setAttribute('aria-sort', isAscending ? 'ascending' : 'descending')
    const [body] = table.tBodies
    const sorted = [...body.rows].sort(
      (a, b) => compare(valueOf(a, at), valueOf(b, at)) * (isAscending ? 1 : -1),
    )
    body.append(...sorted)
  }
  for (const table of tables) {
    for (const [at, heading] of [...table.tHead.rows[0].cells].entries()) {
      const button = document.createElement('button')
      button.type = 'button'
      button.append(...heading.childNodes)
      button.addEventListener('click', () => sort(table, heading, at))
      heading.append(button)
    }
  }

  const filter = document.querySelector('.filter')
  if (filter === null || rows.length === 0) return
  const select = filter.querySelector('select')
  const executives = filter.querySelector('input')
  const shown = filter.querySelector('output')
  const names = new Map(rows.map((row) => [row.dataset.organization, row.dataset.name]))
  for (const [id, name] of [...names].sort((a, b) => collator.compare(a[1], b[1]))) {
    select.append(new Option(name, id))
  }
  const apply = () => {
    let count = 0
    for (const row of rows) {
      const isOther = select.value !== '' && row.dataset.organization !== select.value
      const isHidden = isOther || (executives.checked && 'plain' in row.dataset)
      row.hidden = isHidden
      if (!isHidden && row.closest('.people') !== null) count += 1
    }
    for (const table of document.querySelectorAll('.people'))
      table.hidden = [...table.tBodies[0].rows].every((row) => row.hidden)
    const isAll = select.value === '' && !executives.checked
    shown.textContent = isAll ? '' : `${count.toLocaleString('en')} people shown`
  }
  select.addEventListener('change', apply)
  executives.addEventListener('change', apply)
  filter.hidden = false
  // A browser keeps choices over a reload.
  apply()
})()
