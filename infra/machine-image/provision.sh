#!/usr/bin/env bash
# Prepares a VM from which an image is created: Python, NVIDIA's driver, the runtime's packages, Docker for jobs that
# are containers, Cloud Storage FUSE for /gcs. Idempotent. Requires check-image.sh in the same folder.
#   provision.sh install RUNTIME_FILE            installs; reboot the VM afterwards
#   provision.sh preload IMAGE...                pulls public images, whose layers jobs do not download again
#   provision.sh verify RUNTIME_FILE [--no-gpu]  reports what is missing
#   provision.sh clean                           removes what VMs must not share; the last step before an image
# RUNTIME_FILE contains one runtime of runtimes.json. `clean` works below the environment variable ROOT (default: /).
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
ROOT="${ROOT:-}"
ROOT="${ROOT%/}"
PYTHON_HOME=/opt/dropforge/python
# docs.docker.com/engine/install/ubuntu and docs.nvidia.com/datacenter/cloud-native/container-toolkit have the versions.
# renovate: datasource=github-releases depName=moby/moby extractVersion=^(docker-)?v(?<version>.+)$
DOCKER_VERSION=28.5.2
# renovate: datasource=github-releases depName=containerd/containerd extractVersion=^v(?<version>.+)$
CONTAINERD_VERSION=1.7.28
# renovate: datasource=github-releases depName=NVIDIA/nvidia-container-toolkit extractVersion=^v(?<version>.+)$
NVIDIA_TOOLKIT_VERSION=1.18.1
# cloud.google.com/storage/docs/cloud-storage-fuse/install has the repository.
# renovate: datasource=github-releases depName=GoogleCloudPlatform/gcsfuse extractVersion=^v(?<version>.+)$
GCSFUSE_VERSION=3.11.2
# For `dropforge exec JOB -- py-spy …` and the stacks of a program that stalls; it depends on no package.
# renovate: datasource=pypi depName=py-spy
PROFILER=py-spy==0.4.2

fail() { printf 'provision.sh: %s\n' "$*" >&2; exit 1; }

# Sets the runtime's fields as shell variables, quoted by Python.
read_runtime() {
  local fields
  # Set by the eval.
  python_version='' driver_branch='' driver_suffix='' driver_in_base='' packages=() index_options=()
  fields="$(python3 - "$1" <<'PYTHON'
import json, shlex, sys
with open(sys.argv[1], encoding='utf-8') as file:
    runtime = json.load(file)
driver = runtime['driver']
print('python_version=' + shlex.quote(runtime['pythonVersion']))
print('driver_branch=' + shlex.quote(driver['branch']))
print('driver_suffix=' + ('-open' if driver['modules'] == 'open' else "''"))
print('driver_in_base=' + ('yes' if driver['isInBase'] else 'no'))
print('packages=(' + ' '.join(map(shlex.quote, runtime['packages'])) + ')')
print('index_options=(' + ' '.join('--extra-index-url ' + shlex.quote(url) for url in runtime['extraIndexUrls']) + ')')
PYTHON
)" || fail "$1 is not a valid runtime."
  eval "$fields"
}

install_system() {
  export DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a
  ! command -v cloud-init >/dev/null || cloud-init status --wait || true
  # Upgrading the driver's libraries under a running job would end the job: images are replaced, not upgraded.
  systemctl disable --now unattended-upgrades.service apt-daily.timer apt-daily-upgrade.timer 2>/dev/null || true
  apt-get update
  # Programs may have packages that are compiled during installation.
  apt-get install -y --no-install-recommends ca-certificates curl tar git build-essential procps \
    python3 python3-dev python3-pip python3-venv
  local found
  found="$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
  [[ "$found" == "$python_version" ]] ||
    fail "The base image has Python $found, but the runtime requires $python_version."
}

# Canonical's modules are signed, so they load under Secure Boot, and need no compilation when the kernel changes.
install_driver() {
  [[ "$driver_in_base" == no ]] || return 0
  local name="$driver_branch-server"
  apt-get install -y --no-install-recommends linux-gcp "linux-modules-nvidia-$name$driver_suffix-gcp" \
    "nvidia-headless-no-dkms-$name$driver_suffix" "nvidia-utils-$name"
  keep_gpus_initialized
}

# Ubuntu starts the daemon with --no-persistence-mode: each nvidia-smi would initialize all GPUs again, for seconds, and
# the counts of memory errors, which the agent reads, would be lost when a program ends.
keep_gpus_initialized() {
  local unit="$ROOT/etc/systemd/system/nvidia-persistenced.service.d"
  install -d "$unit"
  printf '%s\n' '[Service]' ExecStart= 'ExecStart=/usr/bin/nvidia-persistenced --user nvidia-persistenced --verbose' \
    >"$unit/dropforge.conf"
}

# Versions that are held: a daemon that is upgraded would restart under a running job.
install_containers() {
  local keys=/etc/apt/keyrings system name version_id codename nvidia_packages=()
  # shellcheck disable=SC2153  # The file sets VERSION_ID.
  read -r name version_id codename < <(. /etc/os-release && echo "$ID $VERSION_ID $VERSION_CODENAME")
  [[ "$name" == ubuntu ]] || fail "Docker is installed on Ubuntu only; the base image has $name."
  install -d -m 0755 "$keys"
  curl -fsSL https://download.docker.com/linux/ubuntu/gpg -o "$keys/docker.asc"
  curl -fsSL https://nvidia.github.io/libnvidia-container/gpgkey -o "$keys/nvidia-container-toolkit.asc"
  chmod a+r "$keys"/*.asc
  system="arch=$(dpkg --print-architecture)"
  printf 'deb [%s signed-by=%s/docker.asc] https://download.docker.com/linux/ubuntu %s stable\n' \
    "$system" "$keys" "$codename" >/etc/apt/sources.list.d/docker.list
  printf 'deb [%s signed-by=%s/nvidia-container-toolkit.asc] %s/%s /\n' "$system" "$keys" \
    https://nvidia.github.io/libnvidia-container/stable/deb "$(dpkg --print-architecture)" \
    >/etc/apt/sources.list.d/nvidia-container-toolkit.list
  configure_docker
  apt-get update
  for name in nvidia-container-toolkit nvidia-container-toolkit-base libnvidia-container-tools libnvidia-container1; do
    nvidia_packages+=("$name=$NVIDIA_TOOLKIT_VERSION-1")
  done
  apt-get install -y --no-install-recommends --allow-downgrades --allow-change-held-packages \
    "docker-ce=5:$DOCKER_VERSION-1~ubuntu.$version_id~$codename" \
    "docker-ce-cli=5:$DOCKER_VERSION-1~ubuntu.$version_id~$codename" \
    "containerd.io=$CONTAINERD_VERSION-1~ubuntu.$version_id~$codename" "${nvidia_packages[@]}"
  apt-mark hold docker-ce docker-ce-cli containerd.io "${nvidia_packages[@]%%=*}"
  nvidia-ctk runtime configure --runtime=docker
  systemctl enable docker
  systemctl restart docker
}

# The agent mounts the buckets at /gcs.
install_bucket_mount() {
  local key=/etc/apt/keyrings/google-cloud.asc codename
  # shellcheck disable=SC2153  # The file sets VERSION_CODENAME.
  codename="$(. /etc/os-release && echo "$VERSION_CODENAME")"
  install -d -m 0755 "${key%/*}"
  curl -fsSL https://packages.cloud.google.com/apt/doc/apt-key.gpg -o "$key"
  chmod a+r "$key"
  printf 'deb [signed-by=%s] https://packages.cloud.google.com/apt gcsfuse-%s main\n' "$key" "$codename" \
    >/etc/apt/sources.list.d/gcsfuse.list
  apt-get update
  apt-get install -y --no-install-recommends --allow-downgrades --allow-change-held-packages \
    fuse3 "gcsfuse=$GCSFUSE_VERSION"
  apt-mark hold gcsfuse
}

# Written before the daemon first starts. With systemd's cgroups, a daemon-reload takes the GPUs from running containers
# (github.com/NVIDIA/nvidia-container-toolkit/issues/48). The daemon listens on its socket only, which is the default. Jobs
# use the VM's network (ADR 37); the addresses of a bridge, 172.17.0.0/16, could be those of machines in the VPC.
configure_docker() {
  install -d -m 0755 "$ROOT/etc/docker"
  cat >"$ROOT/etc/docker/daemon.json" <<'JSON'
{
  "bridge": "none",
  "exec-opts": ["native.cgroupdriver=cgroupfs"],
  "live-restore": true,
  "log-driver": "local",
  "log-opts": { "max-size": "10m", "max-file": "2" }
}
JSON
}

preload() {
  local image
  for image in "$@"; do
    docker pull --quiet "$image" || fail "$image could not be pulled. Only public images can be preloaded."
  done
}

# A separate environment, because pip cannot replace packages of the distribution.
install_packages() {
  [[ -x "$PYTHON_HOME/bin/python3" ]] || python3 -m venv "$PYTHON_HOME"
  "$PYTHON_HOME/bin/python3" -m pip install --no-input --no-cache-dir "${index_options[@]}" "${packages[@]}" "$PROFILER"
  "$PYTHON_HOME/bin/python3" -m pip check
}

# Ubuntu allows only root outside of containers to read a process that the reader has not started.
allow_profiling() {
  printf 'kernel.yama.ptrace_scope = 0\n' >/etc/sysctl.d/60-dropforge.conf
}

# startup.sh runs `python3`: the PATH of startup scripts has this one first, and the system's tools keep their own.
point_to_python() {
  local path="$PYTHON_HOME/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
  install -d /etc/systemd/system/google-startup-scripts.service.d
  printf '[Service]\nEnvironment="PATH=%s"\n' "$path" >/etc/systemd/system/google-startup-scripts.service.d/dropforge.conf
  printf 'export PATH="%s/bin:$PATH"\n' "$PYTHON_HOME" >/etc/profile.d/dropforge.sh
  install -m 0644 "$1" /opt/dropforge/runtime.json
}

verify() {
  local runtime_file="$1"
  shift
  PATH="$PYTHON_HOME/bin:$PATH" verify_driver
  verify_containers
  [[ "$(gcsfuse --version 2>/dev/null)" == "gcsfuse version $GCSFUSE_VERSION "* ]] ||
    fail "Cloud Storage FUSE is missing, or is not $GCSFUSE_VERSION."
  local findings
  # Forbidden files are checked after `clean`.
  findings="$(PATH="$PYTHON_HOME/bin:$PATH" bash "$here/check-image.sh" --machine-only --runtime "$runtime_file" "$@")" ||
    fail "$findings"
}

verify_driver() {
  local version
  version="$(modinfo -F version nvidia 2>/dev/null)" || fail 'NVIDIA’s kernel module is missing for the running kernel.'
  [[ "$version" == "$driver_branch".* ]] ||
    fail "NVIDIA’s driver is $version, but the runtime requires branch $driver_branch."
}

verify_containers() {
  local version
  version="$(docker version --format '{{.Server.Version}}' 2>/dev/null)" || fail 'Docker does not answer.'
  [[ "$version" == "$DOCKER_VERSION" ]] || fail "Docker is $version, but $DOCKER_VERSION is required."
  version="$(nvidia-ctk --version 2>/dev/null | head -n 1)" || fail 'The NVIDIA Container Toolkit is missing.'
  [[ "$version" == *" $NVIDIA_TOOLKIT_VERSION" ]] ||
    fail "The NVIDIA Container Toolkit is $version, but $NVIDIA_TOOLKIT_VERSION is required."
}

clean() {
  if [[ -z "$ROOT" ]]; then
    # Protects the keys of a workstation from accidental use.
    grep -qs 'Google' /sys/class/dmi/id/product_name ||
      fail 'This machine is not a Compute Engine VM: clean would delete its keys. Set ROOT to clean another directory.'
    ! command -v cloud-init >/dev/null || cloud-init clean --logs
    ! command -v apt-get >/dev/null || apt-get clean
    # Images stay; what runs would change files while they are removed.
    ! command -v docker >/dev/null || { docker container prune --force && systemctl stop docker.socket docker; }
  fi
  clean_homes
  shopt -s nullglob dotglob
  # Files that every VM creates itself.
  rm -f "$ROOT"/etc/ssh/ssh_host_* "$ROOT"/var/lib/dbus/machine-id "$ROOT"/var/lib/systemd/random-seed
  rm -f "$ROOT"/var/lib/docker/engine-id "$ROOT"/etc/docker/key.json
  rm -f "$ROOT"/etc/google_instance_id "$ROOT"/etc/instance_id
  rm -rf "$ROOT"/var/lib/dhcp/* "$ROOT"/var/lib/cloud/instance "$ROOT"/var/lib/cloud/instances
  # Empty, not absent: systemd then creates a new one at the next boot (man machine-id).
  [[ ! -e "$ROOT/etc/machine-id" ]] || : >"$ROOT/etc/machine-id"
  rm -rf "$ROOT"/var/lib/dropforge "$ROOT"/etc/google/auth/application_default_credentials.json
  rm -rf "$ROOT"/var/lib/apt/lists/* "$ROOT"/tmp/* "$ROOT"/var/tmp/* "$ROOT"/var/log/journal/*
  [[ ! -d "$ROOT/var/log" ]] || find "$ROOT/var/log" -type f -exec truncate -s 0 {} +
}

clean_homes() {
  local patterns home pattern
  mapfile -t patterns < <(bash "$here/check-image.sh" --list-secrets)
  [[ ${#patterns[@]} -gt 0 ]] || fail 'check-image.sh printed no patterns of secrets.'
  shopt -s nullglob dotglob
  for home in "$ROOT"/root "$ROOT"/home/*; do
    for pattern in "${patterns[@]}" .cache/pip .cache/uv .cache/conda; do
      # shellcheck disable=SC2086  # Unquoted, so that the pattern expands.
      rm -rf -- "${home:?}"/$pattern
    done
  done
}

case "${1:-}" in
  install)
    [[ $# -eq 2 ]] || fail 'Usage: provision.sh install RUNTIME_FILE'
    read_runtime "$2"
    install_system
    install_driver
    install_containers
    install_bucket_mount
    install_packages
    allow_profiling
    point_to_python "$2"
    ;;
  verify)
    [[ $# -ge 2 ]] || fail 'Usage: provision.sh verify RUNTIME_FILE [--no-gpu]'
    read_runtime "$2"
    verify "${@:2}"
    ;;
  preload) preload "${@:2}" ;;
  clean) clean ;;
  *) fail 'Usage: provision.sh install | preload | verify | clean' ;;
esac
