#!/usr/bin/env bash
# Creates machine images, and prints their entry for Terraform's runtime_images. Run with --help.
set -euo pipefail

usage='Usage: make-machine-image.sh --project PROJECT --zone ZONE --build BUILD
                             (--runtime RUNTIME | --name NAME --from VM) [more]
  --runtime RUNTIME     source: the custom image that Packer has built of a runtime of runtimes.json
  --name NAME --from VM source: the boot disk of a VM that you have set up and stopped, in the same zone; job files use
                        NAME as runtime
  --build BUILD         version of the images, the last part of their names: v20261121
  --copies N            number of machine images (default: the runtime’s, or 2); each limits the rate of VM creation
  --subnetwork S        subnetwork of the temporary VMs (default: the default network’s)
  --gpu TYPE            GPU with which the image is tested (default: nvidia-tesla-t4), or none
  --machine-type M      machine type on which the image is tested (default: n1-standard-4)
  --no-containers       the image has no Docker: jobs that are containers do not run on it
  --storage-location L  location of the images: a region, or us, eu or asia
  --dry-run             only print the commands'

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
project='' zone='' build='' runtime='' name='' from='' copies='' subnetwork='' storage_location=''
gpu=nvidia-tesla-t4 machine_type=n1-standard-4 dry_run=no containers=yes
# Compute Engine creates at most one machine image of a VM every 10 minutes (docs, "Create machine images").
copy_wait_seconds=600 poll_seconds=10 polls_max=180
# The lines of check-image.sh among the output of a serial port.
findings_pattern=' (is|are|contains|finds|does not|cannot be|could not be) .*\.$| exists[,:] |DROPFORGE-CHECK'

fail() { printf 'make-machine-image.sh: %s\n' "$*" >&2; exit 1; }
explain() { printf '# %s\n' "$*" >&2; }

while [[ $# -gt 0 ]]; do
  case "$1" in
    --dry-run) dry_run=yes ;;
    --no-containers) containers=no ;;
    --help) printf '%s\n' "$usage"; exit ;;
    --project | --zone | --build | --runtime | --name | --from | --copies | --subnetwork | --gpu | --machine-type | \
      --storage-location | --copy-wait-seconds | --poll-seconds)
      [[ $# -ge 2 && -n "$2" ]] || fail "$1 needs a value."
      option="${1#--}"
      printf -v "${option//-/_}" '%s' "$2"
      shift
      ;;
    *) printf '%s\n' "$usage" >&2; exit 2 ;;
  esac
  shift
done

require() { [[ "$2" =~ $3 ]] || fail "--$1 is missing or invalid: ${2:-empty}. $4"; }
require project "$project" '^([a-z0-9.-]+:)?[a-z][a-z0-9-]+$' 'Use the project’s id.'
require zone "$zone" '^[a-z]+-[a-z]+[0-9]+-[a-z]$' 'A zone has the form us-central1-a.'
require build "$build" '^v[a-z0-9]{1,20}$' 'A build is v and lowercase letters or digits, such as v20261121.'
[[ -n "$runtime" || ( -n "$name" && -n "$from" ) ]] || fail 'No source: use --runtime, or --name and --from.'
[[ -z "$runtime" || -z "$name$from" ]] || fail '--runtime cannot be combined with --name and --from.'

# The runtime’s copies, Python version and JSON from runtimes.json. gcloud requires Python, so it is installed.
runtime_json='' python_version=''
if [[ -n "$runtime" ]]; then
  fields="$(python3 - "$here/runtimes.json" "$runtime" <<'PYTHON'
import json, sys
with open(sys.argv[1], encoding='utf-8') as file:
    known = {runtime['name']: runtime for runtime in json.load(file)['runtimes']}
if sys.argv[2] not in known:
    sys.exit(f'make-machine-image.sh: runtime {sys.argv[2]} does not exist; available: {", ".join(known)}.')
runtime = known[sys.argv[2]]
print(runtime['copies'], runtime['pythonVersion'], json.dumps(runtime))
PYTHON
)" || exit 1
  read -r copies_default python_version runtime_json <<<"$fields"
  name="$runtime"
fi
copies="${copies:-${copies_default:-2}}"
require name "$name" '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$' 'Job files use it as runtime.'
require copies "$copies" '^([0-9]|1[0-9]|20)$' 'Use 0 to 20.'
require copy-wait-seconds "$copy_wait_seconds" '^[0-9]+$' 'Use seconds.'
require poll-seconds "$poll_seconds" '^[0-9]+$' 'Use seconds.'

short="$(printf '%s' "$name" | tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9]+/-/g; s/-$//')"
image="dropforge-$short-$build"
[[ ${#image} -le 50 ]] || fail "The name $image is too long: 50 characters at most."
source_vm="$image-source" check_vm="$image-check" raw_image="$image-raw"
created_vms=() raw_created=no

run() {
  local line
  line="$(printf '%q ' "$@")"
  printf '%s\n' "${line% }" >&2
  [[ "$dry_run" == yes ]] || "$@"
}
compute() { run gcloud compute "$@" --project="$project" --quiet; }

delete_temporary_resources() {
  local status=$? vm
  for vm in ${created_vms[@]+"${created_vms[@]}"}; do
    compute instances delete "$vm" --zone="$zone" || explain "$vm still exists: delete it."
  done
  [[ "$raw_created" == no ]] || compute images delete "$raw_image" || explain "$raw_image contains secrets: delete it."
  rm -rf "$work"
  exit "$status"
}
work="$(mktemp -d)"
trap delete_temporary_resources EXIT

# A startup script with its files embedded: the VM has no service account and cannot download them.
write_startup() {
  local target="$1" file hook="$here/../vm-agent/vm_agent/paths/hook.py"
  shift
  {
    printf '#!/usr/bin/env bash\ntools=/run/dropforge-tools\nmkdir -p "$tools"\n'
    for file in "$here"/{provision.sh,check-image.sh,try_files.py} "$hook"; do
      printf 'base64 -d >"$tools/%s" <<END\n%s\nEND\n' "${file##*/}" "$(base64 <"$file")"
    done
    printf 'base64 -d >"$tools/runtime.json" <<END\n%s\nEND\n' "$(base64 <<<"$runtime_json")"
    printf '%s\n' "$@"
  } >"$target"
}

# Creates a VM of --image or --source-machine-image, without network egress and without permissions.
create_vm() {
  local vm="$1" startup="$2" network=network=default
  shift 2
  [[ -z "$subnetwork" ]] || network="subnet=$subnetwork"
  created_vms+=("$vm")
  compute instances create "$vm" --zone="$zone" "$@" --network-interface="$network,no-address" \
    --no-service-account --no-scopes --labels=managed-by=dropforge,dropforge-purpose=machine-image \
    --metadata=block-project-ssh-keys=TRUE --metadata-from-file="startup-script=$startup"
}

delete_vm() {
  compute instances delete "$1" --zone="$zone"
  local vm kept=()
  for vm in "${created_vms[@]}"; do [[ "$vm" == "$1" ]] || kept+=("$vm"); done
  created_vms=(${kept[@]+"${kept[@]}"})
}

# Waits for a VM that shuts itself down if all checks pass, and otherwise prints the findings on its serial port.
await_shutdown() {
  local vm="$1" status output polls location=("--zone=$zone" "--project=$project")
  explain "waiting until $vm has shut itself down after passing its checks"
  [[ "$dry_run" == no ]] || return 0
  for ((polls = 0; polls < polls_max; polls++)); do
    status="$(gcloud compute instances describe "$vm" "${location[@]}" --format='value(status)')"
    [[ "$status" != TERMINATED && "$status" != STOPPED ]] || return 0
    output="$(gcloud compute instances get-serial-port-output "$vm" "${location[@]}" 2>/dev/null || true)"
    if [[ "$output" == *'DROPFORGE-CHECK failed'* ]]; then
      printf '%s\n' "$output" | grep -E "$findings_pattern" | tail -n 20 >&2 || true
      fail "$vm failed its checks."
    fi
    sleep "$poll_seconds"
  done
  fail "$vm did not shut down within $((polls_max * poll_seconds)) s. Check its serial port output."
}

make_source_vm() {
  local startup="$work/seal.sh" base="$image"
  write_startup "$startup" 'cd / && bash "$tools/provision.sh" clean &&' \
    '  bash "$tools/check-image.sh" --unbooted --root / && poweroff || echo "DROPFORGE-CHECK failed: not cleaned."'
  if [[ -n "$from" ]]; then
    explain "temporary image of $from, including its secrets; deleted at the end"
    raw_created=yes base="$raw_image"
    compute images create "$raw_image" --source-disk="$from" --source-disk-zone="$zone" \
      --labels=managed-by=dropforge,dropforge-purpose=machine-image
  fi
  explain 'source VM of the images: it cleans and checks itself, then shuts down'
  create_vm "$source_vm" "$startup" --machine-type=n1-standard-4 --image="$base" --image-project="$project" \
    --boot-disk-size=100GB --boot-disk-type=pd-ssd --shielded-vtpm --shielded-integrity-monitoring
  await_shutdown "$source_vm"
  explain 'machine images contain the metadata of their VM'
  compute instances remove-metadata "$source_vm" --zone="$zone" --all
  [[ -z "$from" ]] || compute images create "$image" --source-disk="$source_vm" --source-disk-zone="$zone" \
    --family="dropforge-$short" --labels="managed-by=dropforge,dropforge-build=$build" \
    ${storage_location:+"--storage-location=$storage_location"}
}

make_copy() {
  # gcloud has no option for a machine image's labels; it contains those of its VM.
  compute machine-images create "$1" --source-instance="$source_vm" --source-instance-zone="$zone" \
    --description="managed-by=dropforge runtime=$name build=$build" \
    ${storage_location:+"--storage-location=$storage_location"}
}

test_image() {
  local startup="$work/check.sh" options=() gpu_options=()
  [[ "$gpu" != none ]] || options+=(--no-gpu)
  [[ "$containers" == yes ]] || options+=(--no-containers)
  [[ -z "$runtime" ]] || options+=(--runtime '"$tools/runtime.json"')
  write_startup "$startup" "bash \"\$tools/check-image.sh\" ${options[*]-} && poweroff"
  [[ "$gpu" == none ]] || gpu_options+=(--maintenance-policy=TERMINATE)
  # Machine types other than N1 include their GPUs.
  [[ "$gpu" == none || "$machine_type" != n1-* ]] || gpu_options+=("--accelerator=type=$gpu,count=1")
  explain 'test VM, created like that of a job: it must meet the requirements of startup script and agent'
  create_vm "$check_vm" "$startup" --machine-type="$machine_type" "$@" ${gpu_options[@]+"${gpu_options[@]}"}
  await_shutdown "$check_vm"
  delete_vm "$check_vm"
}

letter() { printf '%b' "\\x$(printf '%x' $((97 + $1)))"; }
machine_images=()
for ((copy = 0; copy < copies; copy++)); do machine_images+=("$image-$(letter "$copy")"); done

[[ "$copies" -eq 0 && -z "$from" ]] || make_source_vm
if [[ "$copies" -eq 0 ]]; then
  test_image --image="$image" --image-project="$project" --boot-disk-size=100GB --boot-disk-type=pd-ssd
fi
for ((copy = 0; copy < copies; copy++)); do
  if [[ "$copy" -gt 0 ]]; then
    explain "waiting $copy_wait_seconds s: at most one machine image of a VM every 10 minutes"
    [[ "$dry_run" == yes ]] || sleep "$copy_wait_seconds"
  fi
  make_copy "${machine_images[copy]}"
  [[ "$copy" -gt 0 ]] || test_image --source-machine-image="${machine_images[0]}"
done

explain 'entry for runtime_images in Terraform:'
quoted="$(printf '"%s", ' ${machine_images[@]+"${machine_images[@]}"})"
[[ "$copies" -gt 0 ]] || quoted=''
python_entry="${python_version:+, python_version = \"$python_version\"}"
printf '"%s" = { machine_images = [%s], image = "%s"%s }\n' "$name" "${quoted%, }" "$image" "$python_entry"
