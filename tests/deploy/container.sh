#!/usr/bin/env bash
# container.sh [DEB]: builds the image with buildah (with DEB, that package stands for the build stage) and runs it with a read-only root, as its own user: it answers, its health
# check agrees, it stops cleanly, and it adds at most 120 MB to its base. Where no registry answers, the base is made
# with debootstrap, in a storage of its own (build/container, kept). Needs root, buildah, and a registry or
# debootstrap; else says so and exits 77.
set -euo pipefail
cd "$(dirname "$0")/../.."
skip() { echo "container.sh: skipped: $*"; exit 77; }
[ "$(id -u)" -eq 0 ] || skip "not root"
for tool in buildah curl ip python3 unshare; do
  command -v "$tool" >/dev/null || skip "$tool is not installed"
done
export BUILDAH_ISOLATION=${BUILDAH_ISOLATION:-chroot}
base=docker.io/library/debian:bookworm-slim  # what the Dockerfile starts from
image=localhost/outlierd-test
work=build/container
mkdir -p "$work"

if ! timeout 120 buildah pull -q "$base" >/dev/null 2>&1; then
  command -v debootstrap >/dev/null || skip "no registry answers, and debootstrap is not installed"
  storage=(--root "$PWD/$work/storage" --runroot "$PWD/$work/run" --storage-driver vfs)
  buildah() { command buildah "${storage[@]}" "$@"; }
  if ! buildah inspect --type image "$base" >/dev/null 2>&1; then
    echo "no registry answers: the base is made with debootstrap"
    container=$(buildah from scratch)
    debootstrap --variant=minbase bookworm "$(buildah mount "$container")" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} \
      >"$work/log" 2>&1 || { buildah rm "$container" >/dev/null; skip "debootstrap cannot run here; $work/log"; }
    chroot "$(buildah mount "$container")" apt-get clean
    buildah umount "$container" >/dev/null
    buildah config --cmd bash "$container"
    buildah commit -q --rm "$container" "$base" >/dev/null
  fi
fi

check() { "${@:2}" || { echo "FAILED: $1"; exit 1; }; echo "ok: $1"; }
build=(--file Dockerfile)
if [ $# -gt 0 ]; then
  mkdir -p "$work/stage"
  cp "$1" "$work/stage/outlierd.deb"
  sed -n '/^FROM [^ ]*$/,$p' Dockerfile >"$work/Dockerfile"
  build=(--file "$work/Dockerfile" --build-context build="$PWD/$work/stage")
fi
buildah bud --pull-never --layers --format docker -t "$image" "${build[@]}" . >"$work/build.log" 2>&1 ||
  { tail -30 "$work/build.log"; exit 1; }
buildah inspect --type image "$image" >"$work/image.json"
setting() { python3 -c 'import json, shlex, sys
value = json.load(open(sys.argv[1]))["Docker"]["config"].get(sys.argv[2]) or ""
if isinstance(value, dict): value = value.get("Test", [""])[1:] or list(value)
print(value if isinstance(value, str) else shlex.join(value))' "$work/image.json" "$1"; }
user=$(setting User) health=$(setting Healthcheck) entry=$(setting Entrypoint) volume=$(setting Volumes)
check "has a user of its own" test -n "$user" -a "$user" != root -a "$user" != 0
check "has a health check" test -n "$health"

size() { buildah images --json "$1" |
  python3 -c 'import json, sys; text = json.load(sys.stdin)[0]["size"].split(); print(int(float(text[0]) * {"KB": 1e3, "MB": 1e6, "GB": 1e9}[text[1]]))'; }
added=$(($(size "$image") - $(size "$base")))
echo "adds $((added / 1000000)) MB"
check "adds at most 120 MB to its base" test "$added" -le 120000000

container=$(buildah from --pull-never "$image")
volumes=$(mktemp -d "$work/volume.XXXXXX")
clean_up() {
  buildah umount "$container" >/dev/null
  buildah rm "$container" >/dev/null
  rm -rf "$volumes"
}
trap clean_up EXIT
# As an engine would with --read-only: mounts and network of its own, a root that nobody can write to, the volume
# with the image's rights.
cat >"$work/inside.sh" <<'END'
set -eu
root=$1 volume=$2 user=$3 entry=$4 health=$5 data=$6
cp -a "$root$volume/." "$data"
chown --reference="$root$volume" "$data"
chmod --reference="$root$volume" "$data"
ip link set lo up
mount --bind "$root" "$root"
mount --bind "$data" "$root$volume"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/dev"
for device in null zero urandom; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mount -o remount,bind,ro "$root"
id=$(chroot "$root" id -u "$user") group=$(chroot "$root" id -g "$user")
enter="env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin chroot --userspec=$id:$group --groups= $root"
[ "$id" -ne 0 ]
echo "runs as uid $($enter id -u)"
if touch "$root/written" 2>/dev/null; then echo "the root can be written to"; exit 1; fi
$enter $entry & daemon=$!
trap 'kill $daemon 2>/dev/null || true' EXIT
for _ in $(seq 30); do
  $enter $health >/dev/null 2>&1 && break
  sleep 1
done
echo "$health:"
$enter $health
echo "GET /healthz: $(curl -fsS http://127.0.0.1:9471/healthz)"
echo "GET /: $(curl -fsS http://127.0.0.1:9471/ | wc -c) bytes"
[ "$(awk '/^Uid/ {print $2}' "/proc/$daemon/status")" = "$id" ]  # so it is the daemon that is stopped below
trap - EXIT
kill "$daemon"
wait "$daemon"
END
check "runs read-only as its user, answers, is healthy, stops" \
  unshare --mount --net --propagation private sh "$work/inside.sh" \
  "$(buildah mount "$container")" "$volume" "$user" "$entry" "$health" "$PWD/$volumes"
