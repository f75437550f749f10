#!/usr/bin/env bash
# run.sh PROGRAMS [pictures DIR | large [DIR]]: the dashboard of PROGRAMS/outlierd in headless Chromium, against simulated traffic.
# With `pictures` it takes those of the documents instead of testing; with `large` it looks at 1000 nodes. Exit 77, with the reason, where it cannot run.
set -euo pipefail
programs=$(cd "${1:?which programs? run.sh PROGRAMS [pictures DIR | large [DIR]]}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$programs/e2e-dashboard

skip() { echo "skipped: $*"; exit 77; }
command -v npm >/dev/null || skip "npm is not here"
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || [ -n "${CHROMIUM-}" ] ||
  skip "Chromium is not here (Debian: apt-get install chromium; elsewhere: CHROMIUM=path)"
grep -q 'assets/index-' "$programs/outlierd" || skip "this outlierd was built without the dashboard"

[ -z "${3-}" ] || pictures=$(mkdir -p "$3" && cd "$3" && pwd)
mkdir -p "$work"
cp "$here"/*.mjs "$here"/package.json "$here"/package-lock.json "$here"/.npmrc "$work"
cd "$work"
if ! cmp -s package-lock.json node_modules/.installed; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error || skip "the packages of the test could not be fetched"
  cp package-lock.json node_modules/.installed
fi
[ "${2-}" != pictures ] || exec node pictures.mjs "$programs" "$work/stage" "$pictures"
[ "${2-}" != large ] || exec node large.mjs "$programs" "$work/stage-large" ${pictures+"$pictures"}
exec node test.mjs "$programs" "$work/stage"
