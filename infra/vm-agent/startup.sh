#!/usr/bin/env bash
# The VM's startup script. At every boot, it fetches the agent that the metadata names from its bucket, unless the disk
# has it, runs it, and powers the VM off in any case. The metadata holds the URI and the SHA-256 of the agent and its
# configuration, so both come from the same control plane version.
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
import hashlib, http.client, json, os, sys, time, urllib.request
from urllib.error import HTTPError
from urllib.parse import quote

HOST = os.environ.get('GCE_METADATA_HOST', 'metadata.google.internal')
TRIES_MAX, SECONDS_MAX = 30, 240
UPLOAD = 'npm run build and terraform apply upload it, or dropforge up when it starts'
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

class Ended(Exception):
    """Why the agent cannot run: an exit reason of shared/domain/exit-report.ts, one sentence, and evidence."""

def send(url, headers, body=None, seconds_max=SECONDS_MAX):
    """Returns the body of the answer. Repeats the request after transient errors; raises HTTPError for all others."""
    ends_at = time.monotonic() + seconds_max
    for tries in range(TRIES_MAX):
        time.sleep(min(tries, 10))
        try:
            with direct.open(urllib.request.Request(url, body, headers), timeout=10) as response:
                return response.read()
        except HTTPError as error:
            problem = f'{error.code} {error.reason}'
            if error.code not in (408, 429) and error.code < 500:
                raise
        except (OSError, http.client.HTTPException) as error:
            problem = str(error) or type(error).__name__
        if time.monotonic() > ends_at:
            break
    raise Ended('SERVICE_UNREACHABLE', 'A service was unreachable while the agent was fetched.', f'{url}: {problem}')

def read_metadata(path):
    return send(f'http://{HOST}/computeMetadata/v1/instance/{path}', {'Metadata-Flavor': 'Google'}).decode()

def digest_of(path):
    try:
        with open(path, 'rb') as file:
            return hashlib.sha256(file.read()).hexdigest()
    except FileNotFoundError:
        return None

def fetch(config, uri, sha256, target):
    bucket, _, name = uri[len('gs://') :].partition('/')
    url = f"{config['endpoints']['storageUrl'].rstrip('/')}/storage/v1/b/{bucket}/o/{quote(name, safe='')}?alt=media"
    token = json.loads(read_metadata('service-accounts/default/token'))['access_token']
    try:
        seconds_max = min(SECONDS_MAX, config['limits']['setupSeconds'])
        body = send(url, {'Authorization': f'Bearer {token}'}, seconds_max=seconds_max)
    except HTTPError as error:
        email = read_metadata('service-accounts/default/email').strip()
        todo = {
            403: f'Grant {email} storage.objects.get on the bucket, and upload the object: terraform apply does both.',
            404: 'It was deleted or never uploaded: npm run build and terraform apply (or dropforge up) upload it.',
        }.get(error.code, '')
        message = f'The agent {uri} could not be read: Cloud Storage answered {error.code}. {todo}'
        answer = error.read(1000).decode('utf-8', 'replace')
        raise Ended('AGENT_FAILED', message, f'{error.code} {error.reason}: {answer}')
    actual = hashlib.sha256(body).hexdigest()
    if actual != sha256:
        message = f'The agent {uri} was changed: it does not have the SHA-256 of its name, and is not run.'
        todo = f'Delete the object; {UPLOAD}.'
        raise Ended('AGENT_FAILED', f'{message} {todo}', f'It has {actual}, not {sha256}.')
    with open(target + '.new', 'wb') as file:
        file.write(body)
    os.replace(target + '.new', target)

def report(config, reason, message, evidence):
    """Sends the heartbeat with which the agent would end, so that the job has a cause at once."""
    audience = quote(config['endpoints']['heartbeatAudience'], safe='')
    identity = 'Bearer ' + read_metadata(f'service-accounts/default/identity?audience={audience}&format=full').strip()
    usage = dict.fromkeys(('cpuFraction', 'memoryBytes', 'memoryBytesMax', 'diskBytes', 'diskBytesMax'))
    body = {
        'protocol': 2,
        **{key: config['spec'][key] for key in ('jobId', 'attempt', 'role', 'index')},
        # After those of an earlier boot, if there was one.
        'sequence': int(time.time()),
        'phase': 'EXITED',
        'usage': {**usage, 'gpus': []},
        'progress': {'step': None, 'stepsMax': None, 'metrics': {}},
        'exit': {'reason': reason, 'exitCode': None, 'signal': None, 'message': message, 'evidence': [evidence[:2000]]},
    }
    headers = {'Authorization': identity, 'X-Serverless-Authorization': identity, 'Content-Type': 'application/json'}
    send(config['endpoints']['heartbeatUrl'], headers, json.dumps(body).encode())

def main(target):
    ref = json.loads(read_metadata('attributes/dropforge-agent'))
    if digest_of(target) == ref['sha256']:
        return
    config = json.loads(read_metadata('attributes/dropforge-config'))
    try:
        fetch(config, ref['uri'], ref['sha256'], target)
    except Ended as ended:
        print('dropforge: ' + ' '.join(ended.args), file=sys.stderr, flush=True)
        report(config, *ended.args)
        sys.exit('dropforge: the control plane has the reason, and the VM powers off.')

try:
    main(sys.argv[1])
except (Ended, OSError, ValueError, KeyError) as error:
    sys.exit(f'dropforge: the agent cannot start, and the VM powers off: {error!r}')
PYTHON

mkdir -p "$DROPFORGE_HOME" && run python3 -c "$fetch" "$agent" && run python3 "$agent"
