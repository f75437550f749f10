#!/usr/bin/env bash
# quickstart.sh PROGRAMS: deploy/quickstart.sh finds the incident with these programs, once and again; stops
# cleanly on a signal; leaves nothing running. In a network of its own, so that no port can be taken.
set -eu
cd "$(dirname "$0")/../.."
if [ "${2-}" != inside ]; then
  unshare -rn true 2>/dev/null || { echo "quickstart.sh: skipped: no network namespaces here"; exit 77; }
  exec unshare -rn bash "$0" "$1" inside
fi
# SIOCSIFFLAGS: loopback up.
python3 -c 'import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH22x", b"lo", 0x41))'
export OUTLIERD_PROGRAMS=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
listens() { (exec 3<>/dev/tcp/127.0.0.1/9471) 2>/dev/null; }

deploy/quickstart.sh --once >"$work/once" 2>&1 || { cat "$work/once"; exit 1; }
grep -Eq '^shape +ddos' "$work/once" || { cat "$work/once"; exit 1; }
! listens || { echo "--once left outlierd running"; exit 1; }

deploy/quickstart.sh >"$work/kept" 2>&1 &
script=$!
for _ in $(seq 300); do
  ! grep -q 'Ctrl-C stops it' "$work/kept" || break
  sleep 0.2
done
listens || { cat "$work/kept"; echo "it does not keep running"; exit 1; }
! deploy/quickstart.sh --once >"$work/second" 2>&1 || { echo "two at a time"; exit 1; }
grep -q 'listens on port' "$work/second"
kill -TERM "$script"
wait "$script"
! listens || { echo "a signal left outlierd running"; exit 1; }
echo "found twice, stopped twice"
