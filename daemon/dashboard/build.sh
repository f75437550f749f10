#!/usr/bin/env bash
# build.sh SOURCE WORK OUT.cpp ON|AUTO: installs what the page needs into WORK, builds it there, and writes
# the C++ source that embeds it. With AUTO, where that fails (no way to the package registry, say), the
# source is that of a binary without the page, and it says so.
set -euo pipefail
source=$1 work=$2 out=$3 mode=$4

build() {
  mkdir -p "$work"
  rm -rf "$work/src" "$work/public" "$work/dist"
  cp -r "$source"/{.npmrc,package.json,package-lock.json,tsconfig.json,vite.config.ts,index.html,embed.mjs,src,public} "$work"
  cd "$work"
  if ! cmp -s package-lock.json node_modules/.installed; then
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error || return 1
    cp package-lock.json node_modules/.installed
  fi
  npm run --silent build -- --logLevel warn || return 1
  node embed.mjs dist "$out"
}

rm -f "$out"
if ! (build) >"$work.log" 2>&1; then
  tail -20 "$work.log" >&2
  if [ "$mode" = ON ]; then
    echo "the dashboard could not be built (all of it: $work.log); -DOUTLIERD_DASHBOARD=OFF builds without" >&2
    exit 1
  fi
  echo "warning: the dashboard could not be built; this outlierd will serve a plain page instead" >&2
  cp "$source/no_page.cpp" "$out"
fi
