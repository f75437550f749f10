#!/usr/bin/env bash
# make_sets.sh FOLDER [--other] SEED...: injected sets of both profiles over six stretches of the traffic at hand, for
# pool_eval.py; --other: over five cut at other days, to check what was chosen on the six. Needs ../shared (its data and eval/inject.py).
set -eu
shared=$(cd "$(dirname "$0")/../../../shared" && pwd)
[ $# -ge 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
mkdir -p "$1"
cd "$1"
shift
stretches='a03 abilene-2004-03 2004-03-01 14
a05a abilene-2004-05 2004-05-01 14
a05b abilene-2004-05 2004-05-15 14
sand abilene-sand-week 2003-12-22 7
g08a geant-2005-08 2005-08-01 14
g08b geant-2005-08 2005-08-15 14'
if [ "$1" = --other ]; then
  shift
  stretches='v3a abilene-2004-03 2004-03-04 10
v5a abilene-2004-05 2004-05-08 14
v5b abilene-2004-05 2004-05-17 14
vga geant-2005-08 2005-08-08 14
vgb geant-2005-08 2005-08-17 14'
fi
for seed in "$@"; do
  while read -r name file start days; do
    for profile in material subtle; do
      set="$name-$profile-s$seed"
      [ -f "$set.labels.json" ] ||
        python3 -W ignore "$shared/eval/inject.py" "$shared/data/traffic/$file.csv.gz" "$start" "$days" \
          "$seed" "$set" 3 "$profile" >/dev/null
    done
  done <<<"$stretches"
done
