#!/usr/bin/env bash
# Runs `npm test` on each Node.js that Jobtide supports, from npm's registry.
#
#   test/nodes.sh [version …]      default: 20 22 24
#
# Where the registry cannot be reached, one line says SKIPPED and the exit code is 77: nothing was proved.
set -euo pipefail
cd "$(dirname "$0")/.."

versions=("$@")
((${#versions[@]} > 0)) || versions=(20 22 24)
scratch=$(mktemp -d)
# Tests start this Node.js as another account.
chmod 755 "$scratch"
# What is built at the end is for the Node.js that called.
trap 'rm -rf "$scratch"; npm run --silent build' EXIT

for version in "${versions[@]}"; do
  if ! npm install --silent --no-save --prefix "$scratch/$version" "node-$(node -p 'process.platform + "-" + process.arch')@$version"; then
    printf 'nodes: SKIPPED, nothing was tested: Node.js %s could not be installed\n' "$version"
    exit 77
  fi
  bin=$(dirname "$(find "$scratch/$version" -path '*/bin/node' -type f)")
  printf '\n== Node.js %s\n' "$("$bin/node" --version)"
  PATH="$bin:$PATH" npm test
done
