#!/usr/bin/env bash
# sizing.sh PROGRAMS NODES DAYS: what outlierd needs for a network: memory, store bytes a slice, snapshot,
# and how fast it starts again. The figures of docs/operating.md come from here.
set -euo pipefail
programs=$(realpath "$1") nodes=$2 days=$3
work=$(mktemp -d)
daemon=
trap '[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true; rm -rf "$work"' EXIT

names=$(for ((k = 1; k <= nodes; k++)); do printf 'n%04d,' "$k"; done)
names=${names%,}
cat >"$work/outlierd.yaml" <<TEXT
http: {listen: 127.0.0.1:0}
matrices: []
networks: [{name: sizing, nodes: [$names]}]
store: {path: $work/store}
TEXT

start() {
  : >"$work/log"
  "$programs/outlierd" --config "$work/outlierd.yaml" 2>"$work/log" &
  daemon=$!
  until grep -q event=started "$work/log"; do
    kill -0 "$daemon" || { cat "$work/log"; exit 1; }
    sleep 0.005
  done
  port=$(sed -n 's/.*event=started.* http=\([0-9]*\).*/\1/p' "$work/log")
}
stop() { kill "$daemon"; wait "$daemon"; daemon=; }

"$programs/outlierctl" simulate --names "$names" --days "$days" --output "$work/traffic.csv"
slices=$(($(wc -l <"$work/traffic.csv") - 1))
start
"$programs/outlierctl" push "$work/traffic.csv" --network sizing --to "http://127.0.0.1:$port" >"$work/push"
# Answered is durable, not yet scored: wait until every slice is.
for _ in $(seq 3000); do
  behind=$(curl -s "http://127.0.0.1:$port/metrics" |
    awk '/^outlierd_slices_closed_total/ { n += $2 } /^outlierd_slices_processed_total/ { n -= $2 } END { print n }')
  [ "$behind" != 0 ] || break
  sleep 0.2
done
memory=$(awk '/VmHWM/ { print $2 }' "/proc/$daemon/status")
stop
database=$(stat -c %s "$work/store/outlierd.db")
snapshot=$(find "$work/store/models" -type f -printf '%s\n' | sort -n | tail -1)
begun=$(date +%s%N)
start
ended=$(date +%s%N)
stop
printf '%s nodes, %s slices: memory at most %s MiB; store %s bytes a slice; snapshot %s KiB; starts again in %s ms\n' \
  "$nodes" "$slices" "$((memory / 1024))" "$((database / slices))" "$((snapshot / 1024))" \
  "$(((ended - begun) / 1000000))"
cat "$work/push"
