#!/usr/bin/env bash
# Fails if a layer includes what lies above it. The arrows: daemon -> config -> core -> Eigen.
set -u
cd "$(dirname "$0")/.." || exit 1
status=0
forbid() {  # forbid <folder> <pattern> <why>
  if grep -rnE "#include [<\"]($2)" "$1" --include='*.h' --include='*.cpp' 2>/dev/null; then
    echo "^ $1 $3"
    status=1
  fi
}
forbid core 'boost/|nlohmann/|yaml-cpp/|spdlog/|sqlite3|config/|daemon/|tests/' 'may know only Eigen, std and std::expected'
# core/aligned.cpp alone may give the system advice about memory (sys/mman.h).
forbid core 'iostream|fstream|filesystem|chrono|unistd|sys/[^m]|sys/m[^m]' 'does no input or output and reads no clock'
forbid config 'boost/|nlohmann/|spdlog/|sqlite3|daemon/|tests/' 'may know only yaml-cpp and core'
forbid daemon 'tests/' 'may not know its tests'
rooms=(api ctl dashboard ingest notify store worker)
for room in "${rooms[@]}"; do
  others=$(printf '%s\n' "${rooms[@]}" | grep -vx "$room" | paste -sd'|')
  [ "$room" = ctl ] && others=${others/ingest|/}
  forbid "daemon/$room" "daemon/($others)/|daemon/[a-z_]+\.h" 'meets other rooms only in daemon.cpp'
  # outlierctl is a program of its own: no daemon.cpp hands it a configuration.
  [ "$room" = ctl ] || forbid "daemon/$room" 'config/' 'is told its settings by daemon.cpp'
done
# outlierctl, a program of its own, decodes captures as the daemon would.
forbid daemon/ctl 'daemon/ingest/[a-z_]+\.h' 'may know only the flow decoders of ingest'
[ "$status" -eq 0 ] && echo "layers are as they should be"
exit "$status"
