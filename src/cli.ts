#!/usr/bin/env node
// Says in one sentence that this Node.js is too old. So it has no import but the last two, which an older one never reaches,
// and no word that Node.js 12 does not know: what the program itself needs fails before its first line there.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(
    `jobtide: Node.js ${process.versions.node} is too old: Jobtide needs 20.19 or newer\n  → Install it from https://nodejs.org; cron and systemd often find another one than your shell: give the whole path there.\n`,
  )
  process.exitCode = 2
} else if (isFolderGone()) {
  process.stderr.write(
    'jobtide: the current folder is gone\n  → Go to another one: relative paths are read from there. Nothing was changed.\n',
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
