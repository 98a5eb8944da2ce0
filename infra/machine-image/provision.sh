#!/usr/bin/env bash
# Makes a machine what Dropforge's VMs boot from: Python, NVIDIA's driver, the runtime's packages. May run again. Needs
# check-image.sh beside it.
#   provision.sh install RUNTIME_FILE            installs; restart the machine afterwards
#   provision.sh verify RUNTIME_FILE [--no-gpu]  says what is missing
#   provision.sh clean                           removes what no two machines may share; the last thing before an image
# RUNTIME_FILE is one runtime as runtimes.json has it. ROOT (the environment) is where `clean` works: / unless it is set.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
ROOT="${ROOT:-}"
ROOT="${ROOT%/}"
HOME_OF_PYTHON=/opt/dropforge/python

fail() { printf 'provision.sh: %s\n' "$*" >&2; exit 1; }

# The runtime's fields as shell variables, quoted by Python.
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
)" || fail "$1 is no runtime."
  eval "$fields"
}

install_system() {
  export DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a
  ! command -v cloud-init >/dev/null || cloud-init status --wait || true
  # An upgrade of the driver's libraries under a running job ends the job: images are replaced, not upgraded.
  systemctl disable --now unattended-upgrades.service apt-daily.timer apt-daily-upgrade.timer 2>/dev/null || true
  apt-get update
  # Programs bring packages that are compiled when they are installed.
  apt-get install -y --no-install-recommends ca-certificates curl tar git build-essential \
    python3 python3-dev python3-pip python3-venv
  local found
  found="$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
  [[ "$found" == "$python_version" ]] || fail "The base image has Python $found, and the runtime $python_version."
}

# Canonical's modules are signed: they load under Secure Boot, and nothing is compiled when the kernel changes.
install_driver() {
  [[ "$driver_in_base" == no ]] || return 0
  local name="$driver_branch-server"
  apt-get install -y --no-install-recommends linux-gcp "linux-modules-nvidia-$name$driver_suffix-gcp" \
    "nvidia-headless-no-dkms-$name$driver_suffix" "nvidia-utils-$name"
}

# An environment of its own, because pip cannot replace what the distribution has installed.
install_packages() {
  [[ -x "$HOME_OF_PYTHON/bin/python3" ]] || python3 -m venv "$HOME_OF_PYTHON"
  "$HOME_OF_PYTHON/bin/python3" -m pip install --no-input --no-cache-dir "${index_options[@]}" "${packages[@]}"
  "$HOME_OF_PYTHON/bin/python3" -m pip check
}

# startup.sh asks for `python3`: the startup scripts' own PATH names this one first, and the system's tools keep theirs.
point_to_python() {
  local path="$HOME_OF_PYTHON/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
  install -d /etc/systemd/system/google-startup-scripts.service.d
  printf '[Service]\nEnvironment="PATH=%s"\n' "$path" >/etc/systemd/system/google-startup-scripts.service.d/dropforge.conf
  printf 'export PATH="%s/bin:$PATH"\n' "$HOME_OF_PYTHON" >/etc/profile.d/dropforge.sh
  install -m 0644 "$1" /opt/dropforge/runtime.json
}

verify() {
  local runtime_file="$1"
  shift
  PATH="$HOME_OF_PYTHON/bin:$PATH" verify_driver
  local sentences
  # What was left behind is looked at after `clean`.
  sentences="$(PATH="$HOME_OF_PYTHON/bin:$PATH" bash "$here/check-image.sh" --machine-only --runtime "$runtime_file" "$@")" ||
    fail "$sentences"
}

verify_driver() {
  local version
  version="$(modinfo -F version nvidia 2>/dev/null)" || fail 'NVIDIA’s kernel module is not there for the running kernel.'
  [[ "$version" == "$driver_branch".* ]] || fail "NVIDIA’s driver is $version, and the runtime has branch $driver_branch."
}

clean() {
  if [[ -z "$ROOT" ]]; then
    # Nobody's own computer is to lose its keys by a slip.
    grep -qs 'Google' /sys/class/dmi/id/product_name || fail 'This is no VM of Compute Engine: set ROOT, or do not clean.'
    ! command -v cloud-init >/dev/null || cloud-init clean --logs
    ! command -v apt-get >/dev/null || apt-get clean
  fi
  clean_homes
  shopt -s nullglob dotglob
  # What every VM makes for itself.
  rm -f "$ROOT"/etc/ssh/ssh_host_* "$ROOT"/var/lib/dbus/machine-id "$ROOT"/var/lib/systemd/random-seed
  rm -f "$ROOT"/etc/google_instance_id "$ROOT"/etc/instance_id
  rm -rf "$ROOT"/var/lib/dhcp/* "$ROOT"/var/lib/cloud/instance "$ROOT"/var/lib/cloud/instances
  # Empty, not absent: then systemd makes a new one at the next boot (man machine-id).
  [[ ! -e "$ROOT/etc/machine-id" ]] || : >"$ROOT/etc/machine-id"
  rm -rf "$ROOT"/var/lib/dropforge "$ROOT"/etc/google/auth/application_default_credentials.json
  rm -rf "$ROOT"/var/lib/apt/lists/* "$ROOT"/tmp/* "$ROOT"/var/tmp/* "$ROOT"/var/log/journal/*
  [[ ! -d "$ROOT/var/log" ]] || find "$ROOT/var/log" -type f -exec truncate -s 0 {} +
}

clean_homes() {
  local patterns home pattern
  mapfile -t patterns < <(bash "$here/check-image.sh" --list-secrets)
  [[ ${#patterns[@]} -gt 0 ]] || fail 'check-image.sh does not say what the secrets are.'
  shopt -s nullglob dotglob
  for home in "$ROOT"/root "$ROOT"/home/*; do
    for pattern in "${patterns[@]}" .cache/pip .cache/uv .cache/conda; do
      # Unquoted: the pattern is one.
      rm -rf -- "$home"/$pattern
    done
  done
}

case "${1:-}" in
  install)
    [[ $# -eq 2 ]] || fail 'Which runtime? provision.sh install RUNTIME_FILE'
    read_runtime "$2"
    install_system
    install_driver
    install_packages
    point_to_python "$2"
    ;;
  verify)
    [[ $# -ge 2 ]] || fail 'Which runtime? provision.sh verify RUNTIME_FILE [--no-gpu]'
    read_runtime "$2"
    verify "${@:2}"
    ;;
  clean) clean ;;
  *) fail 'What is to be done? install, verify or clean.' ;;
esac
