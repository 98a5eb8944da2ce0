#!/usr/bin/env bash
# The VM's startup script. At every boot, it fetches the agent from the metadata server, runs it, and powers the VM off
# in any case. The metadata holds the agent and its configuration, so both come from the same control plane version.
set -u
export DROPFORGE_HOME="${DROPFORGE_HOME:-/var/lib/dropforge}"
agent="$DROPFORGE_HOME/agent.pyz"
child=''
# The process that reads this script's output may end first (see shutdown.sh); the broken pipe must not end the script.
trap '' PIPE
# Forwards the signal. Without the trap, bash handles SIGTERM only after the agent has ended.
trap '[[ -n "$child" ]] && kill -TERM "$child" 2>/dev/null' TERM INT
trap 'poweroff' EXIT

run() {
  "$@" &
  child=$!
  echo "$child" >"$DROPFORGE_HOME/agent.pid"
  # A trapped signal makes `wait` return early.
  while kill -0 "$child" 2>/dev/null; do wait "$child"; done
  wait "$child"
}

read -r -d '' fetch <<'PYTHON'
import base64, os, sys, time, urllib.request, zlib
host, target = os.environ.get('GCE_METADATA_HOST', 'metadata.google.internal'), sys.argv[1]
url = f'http://{host}/computeMetadata/v1/instance/attributes/dropforge-agent'
request = urllib.request.Request(url, headers={'Metadata-Flavor': 'Google'})
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
for tries_left in range(30, -1, -1):
    try:
        body = zlib.decompress(base64.b85decode(direct.open(request, timeout=10).read()))
        break
    except (OSError, ValueError, zlib.error) as error:
        if tries_left == 0:
            sys.exit(f'The agent could not be fetched from {url}: {error}. The VM powers off.')
        time.sleep(1)
with open(target + '.new', 'wb') as file:
    file.write(body)
os.replace(target + '.new', target)
PYTHON

mkdir -p "$DROPFORGE_HOME" && run python3 -c "$fetch" "$agent" && run python3 "$agent"
