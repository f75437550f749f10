#!/usr/bin/env bash
# container.sh: builds the image with buildah and runs it read-only and unprivileged: it answers, and adds at most
# 120 MB to its base. Where buildah or a registry is missing, says so and exits 77.
set -eu
cd "$(dirname "$0")/../.."
skip() { echo "container.sh: skipped: $*"; exit 77; }
command -v buildah >/dev/null || skip "buildah is not installed"
export BUILDAH_ISOLATION=${BUILDAH_ISOLATION:-chroot}
buildah pull -q docker.io/library/debian:bookworm-slim >/dev/null 2>&1 || skip "no debian:bookworm-slim to be had"
buildah build -q --format docker -t outlierd-test . || exit 1
size() { buildah images --json "$1" |
  python3 -c 'import json, sys; text = json.load(sys.stdin)[0]["size"].split(); print(int(float(text[0]) * {"KB": 1e3, "MB": 1e6, "GB": 1e9}[text[1]]))'; }
added=$(($(size outlierd-test) - $(size docker.io/library/debian:bookworm-slim)))
echo "adds $((added / 1000000)) MB"
[ "$added" -le 120000000 ]
container=$(buildah from outlierd-test)
trap 'buildah rm "$container" >/dev/null' EXIT
buildah run "$container" -- sh -c '
  [ "$(id -u)" -ne 0 ] || exit 1
  outlierd & daemon=$!
  for _ in 1 2 3 4 5 6 7 8 9 10; do outlierctl status && break; sleep 1; done
  kill $daemon && wait $daemon'
