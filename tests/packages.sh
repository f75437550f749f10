#!/usr/bin/env bash
# Installs what building and testing outlierd needs on Debian 12, by name; nothing where all is there.
set -eu
packages=(
  build-essential ccache clang-14 clang-format-14 clang-tidy-14 cmake curl git libbenchmark-dev
  libboost1.81-dev libclang-rt-14-dev libcli11-dev libeigen3-dev libexpected-dev libfmt-dev
  libgtest-dev libsimdjson-dev libspdlog-dev libsqlite3-dev libssl-dev libsystemd-dev
  libyaml-cpp-dev libzstd-dev nfdump ninja-build nlohmann-json3-dev openssl pkg-config python3 softflowd sqlite3
  zlib1g-dev
  chromium pmacct prometheus prometheus-alertmanager tshark  # what is tested against
)
command -v npm >/dev/null || packages+=(nodejs npm)  # for the dashboard; any npm will do
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ "${#missing[@]}" -eq 0 ] && exit 0
echo "installing: ${missing[*]}"
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
if [ ! -e /usr/sbin/policy-rc.d ]; then  # Prometheus and the others are for the tests: their services stay off
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee /usr/sbin/policy-rc.d >/dev/null
  trap '"${as_root[@]}" rm -f /usr/sbin/policy-rc.d' EXIT
  "${as_root[@]}" chmod 755 /usr/sbin/policy-rc.d
fi
"${as_root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
