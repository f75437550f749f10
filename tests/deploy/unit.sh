#!/usr/bin/env bash
# unit.sh OUTLIERD: systemd finds nothing wrong with the unit and rates its exposure at most 1.5.
set -eu
cd "$(dirname "$0")/../.."
command -v systemd-analyze >/dev/null || { echo "unit.sh: skipped: systemd is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exposure=$(systemd-analyze security --offline=true --no-pager deploy/outlierd.service |
  sed -n 's/.*exposure level for outlierd.service: \([0-9.]*\).*/\1/p')
echo "exposure $exposure"
awk -v exposure="$exposure" 'BEGIN { exit !(exposure != "" && exposure <= 1.5) }'
# The program and its manual page are not installed here: point to the one just built.
sed -e "s#^ExecStart=/usr/bin/outlierd#ExecStart=$(realpath "$1")#" -e '/^Documentation=/d' \
  deploy/outlierd.service >"$work/outlierd.service"
complaints=$(systemd-analyze verify --man=no "$work/outlierd.service" 2>&1 | grep outlierd || true)
[ -z "$complaints" ] || { echo "$complaints"; exit 1; }
