#!/usr/bin/env bash
# schemathesis.sh [URL]: asks a running daemon (or outlierd_api_demo) what its own /openapi.json allows
# and what it does not, and fails on any 5xx and on any answer that is not in the document.
# The stream has no end, a backup writes files where it is told: both are left out. Needs pip; without it, says so and passes (exit 77).
set -u
url=${1:-http://127.0.0.1:9471}
cd "$(dirname "$0")/../.." || exit 1
venv=build/schemathesis
if [ ! -x "$venv/bin/schemathesis" ]; then
  if ! python3 -m venv "$venv" 2>/dev/null || ! "$venv/bin/pip" install -q schemathesis; then
    echo "schemathesis.sh: skipped: schemathesis cannot be installed here (pip, network)"
    exit 77
  fi
fi
if ! curl -sf -o /dev/null "$url/openapi.json"; then
  echo "schemathesis.sh: nothing answers at $url"
  exit 1
fi
checks=not_a_server_error,status_code_conformance,content_type_conformance
checks=$checks,response_schema_conformance,response_headers_conformance
exec "$venv/bin/schemathesis" run "$url/openapi.json" --exclude-path /api/v1/stream \
  --exclude-path /api/v1/backup \
  --checks "$checks" --max-examples "${EXAMPLES:-50}" ${TOKEN:+-H "Authorization: Bearer $TOKEN"}
