#!/usr/bin/env bash
# quickstart.sh [--once]: from a bare Debian 12 to a found incident. Installs what building needs,
# builds, starts outlierd on loopback with its embedded configuration, feeds it a simulated week that
# ends in an attack, shows the event that was found, and keeps running until Ctrl-C.
# --once: stops after showing the event, exit 0. Everything it makes is under build/.
# With OUTLIERD_PROGRAMS=DIR it uses the programs there, and installs and builds nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  build-essential cmake libboost1.81-dev libcli11-dev libeigen3-dev libexpected-dev libfmt-dev
  libsimdjson-dev libspdlog-dev libsqlite3-dev libssl-dev libsystemd-dev libyaml-cpp-dev libzstd-dev
  ninja-build nlohmann-json3-dev pkg-config zlib1g-dev
)
command -v npm >/dev/null || packages+=(nodejs npm)  # for the dashboard; any npm will do
build=${OUTLIERD_PROGRAMS:-build/release}
work=build/quickstart
url=http://127.0.0.1:9471
feed=tcp://127.0.0.1:9470
days=7                 # enough for the detector to be warm
incident=ddos@-3       # in the third bin from the end: still going on when the data ends
shape=ddos
once=false
daemon=
export OUTLIERD_URL=$url

usage() { sed -n '2,6s/^# //p' "$0"; }
step() { printf '\n\033[1m[%s/5] %s\033[0m\n' "$1" "$2"; }
fail() { printf 'quickstart: %s\n' "$*" >&2; exit 1; }

case "${1-}" in
  '') ;;
  --once) once=true ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac
[ $# -le 1 ] || { usage >&2; exit 2; }
[ -t 1 ] || step() { printf '\n[%s/5] %s\n' "$1" "$2"; }

stop() {
  [ -n "$daemon" ] || return 0
  kill -TERM "$daemon" 2>/dev/null || true
  wait "$daemon" 2>/dev/null || true
  daemon=
}
trap stop EXIT
trap 'exit 130' INT TERM

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

install_packages() {
  local missing=() package as_root=()
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
      missing+=("$package")
  done
  if [ "${#missing[@]}" -eq 0 ]; then
    echo "all ${#packages[@]} packages are there"
    return
  fi
  echo "installing with apt-get: ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "run as root, or install sudo: packages are missing"
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

build_programs() {
  if [ ! -f "$build/build.ninja" ]; then
    echo "this is most of the work: some minutes, once"
    cmake --preset release -DOUTLIERD_TESTS=OFF -DOUTLIERD_BENCH=OFF >"$build.log" 2>&1 ||
      { tail -20 "$build.log" >&2; fail "cmake failed; all of it is in $build.log"; }
  fi
  ninja -C "$build" outlierd outlierctl
}

start_daemon() {
  local port
  for port in 9470 9471; do
    ! listens "$port" || fail "something listens on port $port already; stop it and try again"
  done
  rm -rf "$work"
  mkdir -p "$work"
  # Of its own process group, so that Ctrl-C reaches it through this script only.
  set -m
  "$build/outlierd" --demo --store "$work/store" 2>"$work/outlierd.log" &
  daemon=$!
  set +m
  for _ in $(seq 100); do
    ! listens 9471 || { echo "outlierd listens on $url, its log is $work/outlierd.log"; return; }
    kill -0 "$daemon" 2>/dev/null || break
    sleep 0.1
  done
  cat "$work/outlierd.log" >&2
  fail "outlierd did not start"
}

feed_traffic() {
  local names
  names=$("$build/outlierd" --demo --dump-config | sed -n 's/^ *nodes: \[\(.*\)\]$/\1/p' | tr -d ' ')
  "$build/outlierctl" simulate --names "$names" --days "$days" --incident "$incident" \
    --output "$work/traffic.csv"
  "$build/outlierctl" push "$work/traffic.csv" --to "$feed" --network demo
}

show_event() {
  local id=
  for _ in $(seq 300); do
    id=$("$build/outlierctl" events --shape "$shape" --limit 1 | awk 'NR == 2 { print $1 }')
    [ -z "$id" ] || break
    sleep 0.1
  done
  [ -n "$id" ] || fail "nothing was found within 30 s; see $work/outlierd.log"
  "$build/outlierctl" event "$id"
}

mkdir -p build
if [ -z "${OUTLIERD_PROGRAMS-}" ]; then
  step 1 "packages"
  install_packages
  step 2 "build"
  build_programs
fi
step 3 "start outlierd"
start_daemon
step 4 "a simulated week of twelve nodes, an attack at its end"
feed_traffic
step 5 "what was found"
show_event
$once && exit 0
trap 'printf "\nstopping\n"; exit 0' INT TERM
cat <<TEXT

outlierd is running; its dashboard: $url/
Ask it more, in another terminal:
  $build/outlierctl events
  $build/outlierctl matrix demo --what score
  $build/outlierctl watch
Ctrl-C stops it.
TEXT
wait "$daemon" && status=0 || status=$?
daemon=
fail "outlierd ended (exit $status); see $work/outlierd.log"
