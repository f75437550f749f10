#!/usr/bin/env bash
# fresh_root.sh package DEB | quickstart | run: in a bare Debian 12 made with debootstrap:
#   package     the Debian package installs, starts, upgrades, is removed and purged without remains
#   quickstart  deploy/quickstart.sh --once from these sources, twice; says how long each took
#   run         tests/run.sh
# Needs root, debootstrap and a mirror; else says so and exits 77. The bare root is kept in build/fresh_root.
set -euo pipefail
cd "$(dirname "$0")/../.."
source=$PWD
skip() { echo "fresh_root.sh: skipped: $*"; exit 77; }
[ "$(id -u)" -eq 0 ] || skip "not root"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
base=build/fresh_root/base
if [ ! -e "$base.ready" ]; then
  rm -rf "$base"
  mkdir -p "$base"
  debootstrap --variant=minbase --include=ca-certificates,git bookworm "$base" \
    ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >build/fresh_root/log 2>&1 ||
    skip "debootstrap cannot run here; build/fresh_root/log"
  touch "$base.ready"
fi
root=$(mktemp -d build/fresh_root/root.XXXXXX)
clean_up() {
  umount "$root/proc" 2>/dev/null || true
  rm -rf --one-file-system "$root"
}
trap clean_up EXIT
cp -a "$base/." "$root"
cp /etc/resolv.conf "$root/etc/resolv.conf"
mount -t proc proc "$root/proc" || skip "cannot mount /proc"
# A network of its own only where none is needed: quickstart's ports may be taken outside.
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
check() { "${@:2}" || { echo "FAILED: $1"; exit 1; }; echo "ok: $1"; }
lacks() { ! inside "$@" >/dev/null 2>&1; }

package() {
  cp "$1" "$root/outlierd.deb"
  inside apt-get update -qq
  check "installs" inside sh -c "apt-get install -y -qq --no-install-recommends /outlierd.deb >/log 2>&1"
  check "has a system user" inside getent passwd outlierd
  check "its configuration is good" inside outlierd --check
  check "its store belongs to it" inside test "$(inside stat -c %U:%a /var/lib/outlierd)" = outlierd:750
  check "has a unit that is enabled" inside test -e /etc/systemd/system/multi-user.target.wants/outlierd.service
  check "has manual pages and completion" inside test -s /usr/share/man/man1/outlierctl.1.gz -a \
    -s /usr/share/bash-completion/completions/outlierctl -a -s /usr/share/zsh/vendor-completions/_outlierctl
  check "starts as that user and answers" inside sh -c '
    sed -i "s/127.0.0.1:9471/127.0.0.1:19471/; s/127.0.0.1:9470/127.0.0.1:19470/" /etc/outlierd/outlierd.yaml
    install -d -o outlierd /run/outlierd
    setpriv --reuid=outlierd --regid=outlierd --clear-groups outlierd 2>/log & daemon=$!
    for _ in 1 2 3 4 5 6 7 8 9 10; do
      outlierctl --url http://127.0.0.1:19471 status && break
      sleep 1
    done
    kill $daemon && wait $daemon && grep -q event=stopped /log'
  check "upgrades and keeps the changed conffile" inside sh -c '
    apt-get install -y -qq --reinstall /outlierd.deb >/log 2>&1 && grep -q 19471 /etc/outlierd/outlierd.yaml'
  check "is removed, its data stays" inside sh -c '
    apt-get remove -y -qq outlierd >/log 2>&1 && test -e /var/lib/outlierd/outlierd.db && test -e /etc/outlierd/outlierd.yaml'
  check "is purged" inside sh -c "apt-get purge -y -qq outlierd >/log 2>&1"
  check "leaves no data" lacks test -e /var/lib/outlierd
  check "leaves no configuration" lacks test -e /etc/outlierd
  check "leaves no user" lacks getent passwd outlierd
}

copy_source() {
  mkdir "$root/outlierd"
  git -C "$source" ls-files -z | tar -C "$source" --null -T - -cf - | tar -C "$root/outlierd" -xf -
}

quickstart() {
  copy_source
  for run in first second; do
    local begun=$SECONDS
    check "the $run run finds the incident" inside bash -c 'cd /outlierd && deploy/quickstart.sh --once'
    echo "the $run run took $((SECONDS - begun)) s"
  done
}

run() {
  copy_source
  inside sh -c 'cd /outlierd && git init -q && git add -A && bash tests/run.sh'
}

case "${1-}" in
  package) package "$2" ;;
  quickstart) quickstart ;;
  run) run ;;
  *) sed -n '2,6s/^# //p' "$0"; exit 2 ;;
esac
