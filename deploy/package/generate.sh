#!/bin/sh
# generate.sh OUTLIERCTL SOURCE OUT VERSION: completion, manual pages and changelog as a package holds them.
set -eu
"$1" completion bash >"$3/outlierctl.bash"
"$1" completion zsh >"$3/_outlierctl"
"$1" man | gzip -9n >"$3/outlierctl.1.gz"
gzip -9nc "$2/deploy/package/outlierd.8" >"$3/outlierd.8.gz"
gzip -9n >"$3/changelog.gz" <<TEXT
outlierd ($4) unstable; urgency=medium

  * See CHANGELOG.md in this directory.

 -- outlierd maintainers <maintainers@outlierd.example.org>  $(date -R -u -r "$2/CHANGELOG.md")
TEXT
