#!/usr/bin/env bash
# Prepares a VM from which an image is created: Python, NVIDIA's driver, the runtime's packages. Idempotent. Requires
# check-image.sh in the same folder.
#   provision.sh install RUNTIME_FILE            installs; reboot the VM afterwards
#   provision.sh verify RUNTIME_FILE [--no-gpu]  reports what is missing
#   provision.sh clean                           removes what VMs must not share; the last step before an image
# RUNTIME_FILE contains one runtime of runtimes.json. `clean` works below the environment variable ROOT (default: /).
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
ROOT="${ROOT:-}"
ROOT="${ROOT%/}"
PYTHON_HOME=/opt/dropforge/python

fail() { printf 'provision.sh: %s\n' "$*" >&2; exit 1; }

# Sets the runtime's fields as shell variables, quoted by Python.
read_runtime() {
  local fields
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
  apt-get install -y --no-install-recommends ca-certificates curl tar git build-essential \
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
}

# A separate environment, because pip cannot replace packages of the distribution.
install_packages() {
  [[ -x "$PYTHON_HOME/bin/python3" ]] || python3 -m venv "$PYTHON_HOME"
  "$PYTHON_HOME/bin/python3" -m pip install --no-input --no-cache-dir "${index_options[@]}" "${packages[@]}"
  "$PYTHON_HOME/bin/python3" -m pip check
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

clean() {
  if [[ -z "$ROOT" ]]; then
    # Protects the keys of a workstation from accidental use.
    grep -qs 'Google' /sys/class/dmi/id/product_name ||
      fail 'This machine is not a Compute Engine VM: clean would delete its keys. Set ROOT to clean another directory.'
    ! command -v cloud-init >/dev/null || cloud-init clean --logs
    ! command -v apt-get >/dev/null || apt-get clean
  fi
  clean_homes
  shopt -s nullglob dotglob
  # Files that every VM creates itself.
  rm -f "$ROOT"/etc/ssh/ssh_host_* "$ROOT"/var/lib/dbus/machine-id "$ROOT"/var/lib/systemd/random-seed
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
      # Unquoted, so that the pattern expands.
      rm -rf -- "$home"/$pattern
    done
  done
}

case "${1:-}" in
  install)
    [[ $# -eq 2 ]] || fail 'Usage: provision.sh install RUNTIME_FILE'
    read_runtime "$2"
    install_system
    install_driver
    install_packages
    point_to_python "$2"
    ;;
  verify)
    [[ $# -ge 2 ]] || fail 'Usage: provision.sh verify RUNTIME_FILE [--no-gpu]'
    read_runtime "$2"
    verify "${@:2}"
    ;;
  clean) clean ;;
  *) fail 'Usage: provision.sh install | verify | clean' ;;
esac
