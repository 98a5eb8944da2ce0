#!/usr/bin/env bash
# Checks a machine for the requirements of Dropforge's startup script and agent, and for files that an image must not
# contain. Prints one sentence per finding. Exit status 0: no findings; 1: findings; 2: invalid options.
set -euo pipefail

usage='Usage: check-image.sh [--no-gpu] [--no-containers] [--unbooted] [--runtime FILE] [--root DIR | --machine-only]
                      [--list-secrets]
  --no-gpu        do not check the GPU and its driver
  --no-containers do not check Docker: jobs that are containers do not run on the image
  --unbooted      no VM has booted from the image yet: also report host keys and a machine id
  --runtime FILE  a runtime of runtimes.json: also check its Python version and modules
  --root DIR      only check for forbidden files below DIR
  --machine-only  do not check for forbidden files
  --list-secrets  print the patterns of forbidden files in home directories, one per line, and exit'

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root='' files_only=no machine_only=no with_gpu=yes with_containers=yes unbooted=no runtime='' count=0

report() { printf '%s\n' "$*"; count=$((count + 1)); }
has() { command -v "$1" >/dev/null 2>&1; }

check_tools() {
  has bash || report 'bash is missing: the startup script requires it.'
  has poweroff || report 'poweroff is missing: a VM could not shut itself down after its job.'
  has curl || report 'curl is missing: maintenance of the image and many programs require it.'
  has tar || report 'tar is missing: many programs require it.'
  [[ -s /etc/ssl/certs/ca-certificates.crt || -s /etc/pki/tls/certs/ca-bundle.crt ]] ||
    report 'The CA certificates are missing (ca-certificates): the agent could not use HTTPS.'
}

# All checks in one Python process; the code also runs on versions that are too old, in order to report them.
check_python() {
  if ! has python3; then
    report 'python3 is missing: the agent requires it.'
    return
  fi
  local findings
  findings="$(python3 - <<'PYTHON'
import importlib, importlib.util, sys
if sys.version_info < (3, 9):
    print('Python is older than 3.9: %s.' % sys.version.split()[0])
# Found, not imported: pip and setuptools each patch distutils in their own way.
to_find = {
    'venv': 'packages could not be installed (python3-venv)',
    'pip': 'packages could not be installed',
    'setuptools': 'packages could not be built without an index (--no-build-isolation)',
    'wheel': 'packages could not be built without an index (--no-build-isolation)',
}
for module, reason in sorted(to_find.items()):
    if importlib.util.find_spec(module) is None:
        print('The module %s is missing: %s.' % (module, reason))
# Imported: they exist but fail if a system library is missing.
to_import = {
    'ssl': 'the agent could not use HTTPS',
    'zlib': 'the agent could not unpack packages',
    'ctypes': 'most frameworks could not be imported',
    'sqlite3': 'TensorBoard and other packages could not be imported',
}
for module, reason in sorted(to_import.items()):
    try:
        importlib.import_module(module)
    except ImportError:
        print('The module %s is missing: %s.' % (module, reason))
PYTHON
)" || report 'Python does not run.'
  report_lines "$findings"
}

# Uses files as programs do, with the agent's hook. A copy of this script alone has neither file.
check_files() {
  local hook="$here/hook.py" work output
  [[ -f "$hook" ]] || hook="$here/../vm-agent/vm_agent/paths/hook.py"
  [[ -f "$hook" && -f "$here/try_files.py" ]] && has python3 || return 0
  work="$(mktemp -d)"
  output="$(python3 -B "$here/try_files.py" --hook "$hook" "$work" 2>&1)" ||
    report "Files could not be used as programs do, with the agent's hook: ${output##*$'\n'}."
  rm -rf "$work"
}

report_lines() {
  local line
  while IFS= read -r line; do [[ -z "$line" ]] || report "$line"; done <<<"$1"
}

check_runtime() {
  [[ -n "$runtime" ]] && has python3 || return 0
  local findings
  findings="$(python3 - "$runtime" <<'PYTHON'
import importlib, importlib.metadata, json, re, sys
with open(sys.argv[1], encoding='utf-8') as file:
    runtime = json.load(file)
version = '.'.join(map(str, sys.version_info[:2]))
if version != runtime['pythonVersion']:
    print(f"Python is {version}, but runtime {runtime['name']} requires {runtime['pythonVersion']}.")
for pin in runtime['packages']:
    name, wanted = re.sub(r'\[.*\]', '', pin).split('==')
    try:
        installed = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        print(f'The package {name} is missing: {wanted} is required.')
        continue
    if installed != wanted:
        print(f'The package {name} is {installed}, but {wanted} is required.')
for module in runtime['imports']:
    try:
        importlib.import_module(module)
    except Exception as error:
        print(f'The module {module} cannot be imported: {str(error).splitlines()[0] if str(error) else type(error)}.')
PYTHON
)" || report 'The runtime could not be checked: its file is not a valid runtime, or Python failed.'
  report_lines "$findings"
}

check_gpu() {
  [[ "$with_gpu" == yes ]] || return 0
  if ! has nvidia-smi; then
    report 'nvidia-smi is missing: NVIDIA’s driver is not installed (use --no-gpu for a machine without GPU).'
  elif ! nvidia-smi --query-gpu=name --format=csv,noheader >/dev/null 2>&1; then
    report 'nvidia-smi finds no GPU: the driver is not loaded or does not support it (use --no-gpu without GPU).'
  fi
}

# The oldest version with which the agent has been tested.
docker_major_min=20

check_containers() {
  [[ "$with_containers" == yes ]] || return 0
  if ! has docker; then
    report 'docker is missing: jobs that are containers cannot run (use --no-containers for an image without them).'
    return
  fi
  local version
  if ! version="$(docker version --format '{{.Server.Version}}' 2>/dev/null)" || [[ -z "$version" ]]; then
    report 'docker is installed, but its daemon does not answer: jobs that are containers cannot run.'
    return
  fi
  [[ "${version%%.*}" -ge "$docker_major_min" ]] ||
    report "Docker is $version, but $docker_major_min or newer is required."
  [[ "$(docker info 2>&1)" != *'API is accessible on'* ]] ||
    report 'The API of Docker is accessible over the network: every program could become root. Remove its tcp:// hosts.'
  [[ -z "$(docker network ls --quiet --filter driver=bridge)" ]] ||
    report 'Docker has its default bridge, which is in the way of a VPC with 172.17.0.0/16: set "bridge": "none".'
  if has nvidia-smi; then
    [[ "$(docker info --format '{{json .Runtimes}}')" == *'"nvidia"'* ]] ||
      report 'Docker does not have the runtime nvidia: containers get no GPU (nvidia-ctk runtime configure).'
    [[ "$(docker info --format '{{.CgroupDriver}}')" == cgroupfs ]] ||
      report 'The cgroup driver of Docker is not cgroupfs: a daemon-reload would take the GPUs from running containers.'
  fi
  check_container_run
}

# Runs programs of this machine in a container, as an image that was pulled needs a network.
check_container_run() {
  local image=dropforge-check:latest programs=("$(type -P true)") with_smi=no
  if [[ "$with_gpu" == yes ]] && has nvidia-smi; then with_smi=yes programs+=("$(type -P nvidia-smi)"); fi
  if ! list_with_libraries "${programs[@]}" | tar --create --dereference --directory=/ --files-from=- 2>/dev/null |
    docker import - "$image" >/dev/null 2>&1; then
    report 'Docker could not be given an image for the check: its storage does not work.'
    return
  fi
  docker run --rm --network=none "$image" "${programs[0]}" >/dev/null 2>&1 ||
    report 'A container could not be started: docker does not run on this kernel.'
  # The toolkit brings the program and its libraries.
  [[ "$with_smi" == no ]] ||
    docker run --rm --network=none --gpus=all --env=NVIDIA_DRIVER_CAPABILITIES=utility "$image" \
      nvidia-smi -L >/dev/null 2>&1 ||
    report 'A container finds no GPU, although the machine does: the NVIDIA Container Toolkit does not work.'
  docker image rm --force "$image" >/dev/null 2>&1 || true
}

# Prints programs, except nvidia-smi, and all their shared libraries, relative to the root.
list_with_libraries() {
  {
    printf '%s\n' "$1"
    { ldd "$@" || true; } 2>/dev/null | grep -oE '/[^ :()]+\.so[^ :()]*' || true
  } | sort -u | sed 's#^/##'
}

# Maximum number of reported keys.
keys_max=20

# Forbidden files in home directories, which are root and home/*.
secrets_in_homes=(
  .ssh/authorized_keys '.ssh/id_*' .config/gcloud .docker/config.json .netrc .git-credentials .pypirc .boto .gsutil
  .aws .azure .kube .kaggle/kaggle.json .huggingface/token .cache/huggingface/token .cache/huggingface/stored_tokens
  .config/gh .npmrc .wandb .bash_history .zsh_history .python_history .viminfo .lesshst .mysql_history .psql_history
)

check_forbidden_files() {
  local home pattern path file
  shopt -s nullglob dotglob
  for home in "$root"/root "$root"/home/*; do
    for pattern in "${secrets_in_homes[@]}"; do
      # Unquoted, so that the pattern expands.
      for path in "$home"/$pattern; do
        [[ ! -s "$path" ]] || report "${path#"$root"} exists, but an image must not contain credentials or histories."
      done
    done
  done
  for path in "$root"/var/lib/dropforge "$root"/etc/google/auth/application_default_credentials.json; do
    [[ ! -e "$path" ]] || report "${path#"$root"} exists: it remains from a job or a login."
  done
  for file in "$root"/etc/pip.conf "$root"/root/.config/pip/pip.conf "$root"/home/*/.config/pip/pip.conf; do
    ! grep -Eqs '://[^/[:space:]]+:[^/[:space:]]+@' "$file" || report "${file#"$root"} contains a password in a URL."
  done
  while IFS= read -r file; do
    report "${file#"$root"} contains a private key."
  done < <(list_private_keys)
  [[ "$unbooted" == yes ]] || return 0
  for path in "$root"/etc/ssh/ssh_host_*; do report "${path#"$root"} exists: all VMs of the image would share it."; done
  [[ ! -s "$root/etc/machine-id" ]] || report '/etc/machine-id is not empty: all VMs of the image would share it.'
}

# Service account keys are JSON files with a private key; others are PEM files. SSH host keys are checked above.
list_private_keys() {
  local folders=() folder
  for folder in "$root"/root "$root"/home "$root"/opt "$root"/srv "$root"/tmp "$root"/var/tmp "$root"/etc/google; do
    [[ ! -d "$folder" ]] || folders+=("$folder")
  done
  [[ ${#folders[@]} -gt 0 ]] || return 0
  grep -rlIsE --include='*.json' --include='*.pem' --include='*.key' --exclude-dir='python[0-9]*' \
    --exclude-dir=node_modules -e '-----BEGIN ([A-Z]+ )?PRIVATE KEY-----' "${folders[@]}" |
    head -n "$keys_max" || true
}

while [[ $# -gt 0 ]]; do
  case "$1" in
    --no-gpu) with_gpu=no ;;
    --no-containers) with_containers=no ;;
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
  check_files
  check_runtime
  check_gpu
  check_containers
fi
[[ "$machine_only" == yes ]] || check_forbidden_files
if [[ $count -gt 0 ]]; then
  printf 'DROPFORGE-CHECK failed: %s found.\n' "$count"
  exit 1
fi
echo 'DROPFORGE-CHECK passed'
