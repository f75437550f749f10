#!/usr/bin/env bash
# programs.sh OUTLIERD OUTLIERCTL: the configurations we ship are good; completion and manual are for their shells.
set -eu
cd "$(dirname "$0")/../.."
for file in deploy/outlierd.yaml deploy/container/outlierd.yaml deploy/container/compose.yaml; do
  "$1" --config "$file" --check
done
"$2" completion bash | bash -n
if command -v zsh >/dev/null; then "$2" completion zsh | zsh -n; fi
"$2" man | grep -q '^\.TH'
for script in deploy/*.sh deploy/package/*.sh tests/deploy/*.sh; do bash -n "$script"; done
for script in deploy/package/postinst deploy/package/prerm deploy/package/postrm; do sh -n "$script"; done
if command -v promtool >/dev/null; then
  promtool check rules deploy/prometheus/outlierd.rules.yaml
  promtool test rules tests/deploy/rules_test.yaml
fi
echo "what is shipped is good"
