#!/usr/bin/env node
// Checks the version of Node.js before anything else is loaded. This file must parse on Node.js 12: it imports nothing
// before the check, and uses no newer syntax.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(
    `jobtide: Node.js ${process.versions.node} is too old: Jobtide needs 20.19 or newer\n  → Install it from https://nodejs.org. Cron and systemd may find another one than your shell does: give the full path there.\n`,
  )
  process.exitCode = 2
} else if (isFolderGone()) {
  process.stderr.write(
    'jobtide: the current folder no longer exists\n  → Change to another folder, because relative paths start there. Nothing was changed.\n',
  )
  process.exitCode = 2
} else if (process.argv.slice(2).join(' ') === '--help' && isWide()) {
  void import('./cli/help.ts')
} else {
  void import('./cli/bundle.ts')
}

function isWide() {
  return !process.stdout.isTTY || process.stdout.columns >= 80
}

function isFolderGone() {
  try {
    process.cwd()
    return false
  } catch {
    return true
  }
}
