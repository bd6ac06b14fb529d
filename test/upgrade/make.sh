#!/usr/bin/env bash
# Makes the fixture of one version: test/upgrade/make.sh <a built checkout of it> <version>. README.md says of which commits.
# A version that backs the journal up does so into data/backup; earlier ones do not know the variable.
# The data directory is always named below /proc/self/cwd, the current folder of a process: a fixture works wherever it lies.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
checkout=$(cd "$1" && pwd) version=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# at <time> <command …>: the command line of that version, on a clock that shows that time.
at() {
  local ahead="Date.parse('$1') - Date.parse('$(date -u +%FT%TZ)')"
  local preload="const { now } = Date; const ahead = $ahead; Date.now = () => now.call(Date) + ahead"
  NODE_OPTIONS="--import=data:text/javascript,$(node -p 'encodeURIComponent(process.argv[1])' "$preload")" \
    JOBTIDE_DATA_DIR=/proc/self/cwd/data JOBTIDE_JOURNAL_BACKUP=backup node "$checkout/dist/cli.js" "${@:2}"
}

# night <time>: the service has seen the events up to then, and a run buys them.
night() {
  at "$1" simulate --port 0 --events "$here/events.ndjson.gz" --json >simulator.json &
  until grep -q '"pid"' simulator.json; do sleep 0.2; done
  JOBTIDE_API_KEY=simulator-key JOBTIDE_BASE_URL=$(node -p 'JSON.parse(fs.readFileSync("simulator.json")).url') \
    at "$1" run test.yaml
  kill "$(node -p 'JSON.parse(fs.readFileSync("simulator.json")).pid')"
  wait
  rm simulator.json
}

for name in nobody-erased one-erased; do
  mkdir "$work/$name" && cd "$work/$name"
  cp "$here/organizations.csv" "$here/test.yaml" .
  night 2026-11-10T02:15:00Z
  [[ $name != one-erased ]] || at 2026-11-10T09:00:00Z forget "$(cat "$here/erased.txt")" --yes
  night 2026-11-25T02:15:00Z
  # The copy for analysts is the warehouse once more.
  rm -r data/locks data/analyst.duckdb
done

# Both in one archive: most bytes of the second are in the first. gzip would not see it.
tar --sort=name --owner=0 --group=0 -C "$work" -cf - nobody-erased/data one-erased/data | node -e "
  const { BROTLI_PARAM_LARGE_WINDOW, BROTLI_PARAM_LGWIN } = zlib.constants
  const packer = zlib.createBrotliCompress({ params: { [BROTLI_PARAM_LARGE_WINDOW]: 1, [BROTLI_PARAM_LGWIN]: 27 } })
  process.stdin.pipe(packer).pipe(process.stdout)" >"$here/$version.tar.br"
