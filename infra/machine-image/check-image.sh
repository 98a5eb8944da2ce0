#!/usr/bin/env bash
# Says what a machine lacks of what Dropforge's startup script and agent need, and what it holds that no image may hold:
# one sentence each. Exit status 0: nothing; 1: something; 2: the options are wrong.
set -euo pipefail

usage='Usage: check-image.sh [--no-gpu] [--unbooted] [--runtime FILE] [--root DIR | --machine-only] [--list-secrets]
  --no-gpu        do not ask for a GPU and its driver
  --unbooted      no VM has booted from it yet: host keys and a machine id are wrong too
  --runtime FILE  the runtime as runtimes.json has it: its Python and its modules must be there too
  --root DIR      look for what must not be there below DIR, and do not ask what this machine has
  --machine-only  do not look for what must not be there
  --list-secrets  print what no home directory of an image may hold, a pattern a line, and end'

root='' files_only=no machine_only=no with_gpu=yes unbooted=no runtime='' found=0

say() { printf '%s\n' "$*"; found=$((found + 1)); }
has() { command -v "$1" >/dev/null 2>&1; }

check_tools() {
  has bash || say 'bash is missing: the startup script is written in it.'
  has poweroff || say 'poweroff is missing: a VM that has done its work could not turn itself off.'
  has curl || say 'curl is missing: the image could not be looked after, and programs often want it.'
  has tar || say 'tar is missing: programs often want it.'
  [[ -s /etc/ssl/certs/ca-certificates.crt || -s /etc/pki/tls/certs/ca-bundle.crt ]] ||
    say 'The CA certificates are missing (ca-certificates): the agent could not speak HTTPS.'
}

# One start of Python for all of it; compatible with the oldest, which has to say that it is too old.
check_python() {
  if ! has python3; then
    say 'python3 is missing: the agent is written in it.'
    return
  fi
  local sentences
  sentences="$(python3 - <<'PYTHON'
import importlib, importlib.util, sys
if sys.version_info < (3, 9):
    print('Python is older than 3.9: %s.' % sys.version.split()[0])
# Looked for, not imported: pip and setuptools each mend distutils in their own way.
to_find = {
    'venv': 'packages could not be installed (python3-venv)',
    'pip': 'packages could not be installed',
    'setuptools': 'packages could not be built without an index (--no-build-isolation)',
    'wheel': 'packages could not be built without an index (--no-build-isolation)',
}
for module, reason in sorted(to_find.items()):
    if importlib.util.find_spec(module) is None:
        print('The module %s is missing: %s.' % (module, reason))
# Imported: they are there and do not work where a library of the system is missing.
to_import = {
    'ssl': 'the agent could not speak HTTPS',
    'zlib': 'the agent could not unpack packages',
    'ctypes': 'most frameworks could not be imported',
    'sqlite3': 'TensorBoard and others could not be imported',
}
for module, reason in sorted(to_import.items()):
    try:
        importlib.import_module(module)
    except ImportError:
        print('The module %s is missing: %s.' % (module, reason))
PYTHON
)" || say 'Python does not run.'
  say_lines "$sentences"
}

say_lines() {
  local line
  while IFS= read -r line; do [[ -z "$line" ]] || say "$line"; done <<<"$1"
}

check_runtime() {
  [[ -n "$runtime" ]] && has python3 || return 0
  local sentences
  sentences="$(python3 - "$runtime" <<'PYTHON'
import importlib, importlib.metadata, json, re, sys
with open(sys.argv[1], encoding='utf-8') as file:
    runtime = json.load(file)
version = '.'.join(map(str, sys.version_info[:2]))
if version != runtime['pythonVersion']:
    print(f"Python is {version}, and runtime {runtime['name']} has {runtime['pythonVersion']}.")
for pin in runtime['packages']:
    name, wanted = re.sub(r'\[.*\]', '', pin).split('==')
    try:
        installed = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        print(f'The package {name} is missing: {wanted} is wanted.')
        continue
    if installed != wanted:
        print(f'The package {name} is {installed}, and {wanted} is wanted.')
for module in runtime['imports']:
    try:
        importlib.import_module(module)
    except Exception as error:
        print(f'The module {module} cannot be imported: {str(error).splitlines()[0] if str(error) else type(error)}.')
PYTHON
)" || say 'The runtime could not be looked at: its file is no runtime, or Python ended badly.'
  say_lines "$sentences"
}

check_gpu() {
  [[ "$with_gpu" == yes ]] || return 0
  if ! has nvidia-smi; then
    say 'nvidia-smi is missing: NVIDIA’s driver is not installed (--no-gpu for a machine that has none).'
  elif ! nvidia-smi --query-gpu=name --format=csv,noheader >/dev/null 2>&1; then
    say 'nvidia-smi finds no GPU: the driver is not loaded or does not know the GPU (--no-gpu for a machine without one).'
  fi
}

# So many are enough to see what is wrong.
keys_max=20

# Patterns below the root; home directories are root and home/*.
secrets_in_homes=(
  .ssh/authorized_keys '.ssh/id_*' .config/gcloud .docker/config.json .netrc .git-credentials .pypirc .boto .gsutil
  .aws .azure .kube .kaggle/kaggle.json .huggingface/token .cache/huggingface/token .cache/huggingface/stored_tokens
  .config/gh .npmrc .wandb .bash_history .zsh_history .python_history .viminfo .lesshst .mysql_history .psql_history
)

check_left_behind() {
  local home pattern path file
  shopt -s nullglob dotglob
  for home in "$root"/root "$root"/home/*; do
    for pattern in "${secrets_in_homes[@]}"; do
      # Unquoted: the pattern is one.
      for path in "$home"/$pattern; do
        [[ ! -s "$path" ]] || say "${path#"$root"} is there, and no image may hold it: it is a credential or a history."
      done
    done
  done
  for path in "$root"/var/lib/dropforge "$root"/etc/google/auth/application_default_credentials.json; do
    [[ ! -e "$path" ]] || say "${path#"$root"} is there: it is left from a job or a login."
  done
  for file in "$root"/etc/pip.conf "$root"/root/.config/pip/pip.conf "$root"/home/*/.config/pip/pip.conf; do
    ! grep -Eqs '://[^/[:space:]]+:[^/[:space:]]+@' "$file" || say "${file#"$root"} holds a password in an address."
  done
  while IFS= read -r file; do
    say "${file#"$root"} holds a private key."
  done < <(list_private_keys)
  [[ "$unbooted" == yes ]] || return 0
  for path in "$root"/etc/ssh/ssh_host_*; do say "${path#"$root"} is there: all VMs of the image would share it."; done
  [[ ! -s "$root/etc/machine-id" ]] || say '/etc/machine-id is not empty: all VMs of the image would share it.'
}

# Keys of service accounts are JSON with a private key in it; others are PEM files. SSH host keys are looked at above.
list_private_keys() {
  local places=() place
  for place in "$root"/root "$root"/home "$root"/opt "$root"/srv "$root"/tmp "$root"/var/tmp "$root"/etc/google; do
    [[ ! -d "$place" ]] || places+=("$place")
  done
  [[ ${#places[@]} -gt 0 ]] || return 0
  grep -rlIsE --include='*.json' --include='*.pem' --include='*.key' --exclude-dir='python[0-9]*' \
    --exclude-dir=node_modules -e '-----BEGIN ([A-Z]+ )?PRIVATE KEY-----' "${places[@]}" |
    head -n "$keys_max" || true
}

while [[ $# -gt 0 ]]; do
  case "$1" in
    --no-gpu) with_gpu=no ;;
    --machine-only) machine_only=yes ;;
    --unbooted) unbooted=yes ;;
    --runtime) runtime="${2:-}"; shift ;;
    --root) root="${2:-}" files_only=yes; shift ;;
    --list-secrets) printf '%s\n' "${secrets_in_homes[@]}"; exit ;;
    *) printf '%s\n' "$usage" >&2; exit 2 ;;
  esac
  [[ $# -gt 0 ]] && shift
done
root="${root%/}"

if [[ "$files_only" == no ]]; then
  check_tools
  check_python
  check_runtime
  check_gpu
fi
[[ "$machine_only" == yes ]] || check_left_behind
if [[ $found -gt 0 ]]; then
  printf 'DROPFORGE-CHECK failed: %s found.\n' "$found"
  exit 1
fi
echo 'DROPFORGE-CHECK passed'
