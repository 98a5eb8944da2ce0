#!/usr/bin/env bash
# Makes machine images, and prints what Terraform's runtime_images says of them. Run with --help.
set -euo pipefail

usage='Usage: make-machine-image.sh --project PROJECT --zone ZONE --build BUILD
                             (--runtime RUNTIME | --name NAME --from VM) [more]
  --runtime RUNTIME     of the custom image that Packer has made of a runtime of runtimes.json
  --name NAME --from VM of the boot disk of a VM that you have set up and stopped (in the same zone); NAME is what job
                        files say as runtime
  --build BUILD         which making it is, the last part of names: v20261121
  --copies N            how many machine images (the runtime’s, else 2): one serves few VMs at a time
  --subnetwork S        of the VMs that this makes for the while (the default network’s)
  --gpu TYPE            that the image is tried with (nvidia-tesla-t4), or none
  --machine-type M      that it is tried on (n1-standard-4)
  --storage-location L  where images are kept: a region, or us, eu or asia
  --dry-run             only say what would be done'

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
project='' zone='' build='' runtime='' name='' from='' copies='' subnetwork='' storage_location=''
gpu=nvidia-tesla-t4 machine_type=n1-standard-4 dry_run=no
# Compute Engine makes a machine image of the same VM once in 10 minutes (docs, "Create machine images").
copy_wait_seconds=600 poll_seconds=10 polls_max=180

fail() { printf 'make-machine-image.sh: %s\n' "$*" >&2; exit 1; }
explain() { printf '# %s\n' "$*" >&2; }

while [[ $# -gt 0 ]]; do
  case "$1" in
    --dry-run) dry_run=yes ;;
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

matches() { [[ "$2" =~ $3 ]] || fail "--$1 is missing or wrong: ${2:-nothing}. $4"; }
matches project "$project" '^([a-z0-9.-]+:)?[a-z][a-z0-9-]+$' 'Give the project’s id.'
matches zone "$zone" '^[a-z]+-[a-z]+[0-9]+-[a-z]$' 'It looks like us-central1-a.'
matches build "$build" '^v[a-z0-9]{1,20}$' 'It is a v and small letters and digits, such as v20261121.'
[[ -n "$runtime" || ( -n "$name" && -n "$from" ) ]] || fail 'Of what? Give --runtime, or --name and --from.'
[[ -z "$runtime" || -z "$name$from" ]] || fail '--runtime stands alone, without --name and --from.'

# What runtimes.json says of it: copies, Python, and all of it as JSON. Python is there wherever gcloud is.
runtime_json='' python_version=''
if [[ -n "$runtime" ]]; then
  said="$(python3 - "$here/runtimes.json" "$runtime" <<'PYTHON'
import json, sys
with open(sys.argv[1], encoding='utf-8') as file:
    known = {runtime['name']: runtime for runtime in json.load(file)['runtimes']}
if sys.argv[2] not in known:
    sys.exit(f'make-machine-image.sh: there is no runtime {sys.argv[2]}; there are {", ".join(known)}.')
runtime = known[sys.argv[2]]
print(runtime['copies'], runtime['pythonVersion'], json.dumps(runtime))
PYTHON
)" || exit 1
  read -r copies_default python_version runtime_json <<<"$said"
  name="$runtime"
fi
copies="${copies:-${copies_default:-2}}"
matches name "$name" '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$' 'It is what job files say as runtime.'
matches copies "$copies" '^([0-9]|1[0-9]|20)$' 'From 0 to 20.'
matches copy-wait-seconds "$copy_wait_seconds" '^[0-9]+$' 'Seconds.'
matches poll-seconds "$poll_seconds" '^[0-9]+$' 'Seconds.'

short="$(printf '%s' "$name" | tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9]+/-/g; s/-$//')"
image="dropforge-$short-$build"
[[ ${#image} -le 50 ]] || fail "The name $image is too long: 50 characters at most."
source_vm="$image-source" check_vm="$image-check" raw_image="$image-raw"
vms_made=() raw_made=no

run() {
  local line
  line="$(printf '%q ' "$@")"
  printf '%s\n' "${line% }" >&2
  [[ "$dry_run" == yes ]] || "$@"
}
compute() { run gcloud compute "$@" --project="$project" --quiet; }

tidy_up() {
  local status=$? vm
  for vm in ${vms_made[@]+"${vms_made[@]}"}; do
    compute instances delete "$vm" --zone="$zone" || explain "$vm is still there: delete it."
  done
  [[ "$raw_made" == no ]] || compute images delete "$raw_image" || explain "$raw_image holds secrets: delete it."
  rm -rf "$work"
  exit "$status"
}
work="$(mktemp -d)"
trap tidy_up EXIT

# A startup script that carries its files along: the VM has no account and fetches nothing.
write_startup() {
  local target="$1" file
  shift
  {
    printf '#!/usr/bin/env bash\ntools=/run/dropforge-tools\nmkdir -p "$tools"\n'
    for file in provision.sh check-image.sh; do
      printf 'base64 -d >"$tools/%s" <<END\n%s\nEND\n' "$file" "$(base64 <"$here/$file")"
    done
    printf 'base64 -d >"$tools/runtime.json" <<END\n%s\nEND\n' "$(base64 <<<"$runtime_json")"
    printf '%s\n' "$@"
  } >"$target"
}

# One VM, of --image or --source-machine-image, that reaches nothing and has no rights.
create_vm() {
  local vm="$1" startup="$2" network=network=default
  shift 2
  [[ -z "$subnetwork" ]] || network="subnet=$subnetwork"
  vms_made+=("$vm")
  compute instances create "$vm" --zone="$zone" "$@" --network-interface="$network,no-address" \
    --no-service-account --no-scopes --labels=managed-by=dropforge,dropforge-purpose=machine-image \
    --metadata=block-project-ssh-keys=TRUE --metadata-from-file="startup-script=$startup"
}

delete_vm() {
  compute instances delete "$1" --zone="$zone"
  local vm kept=()
  for vm in "${vms_made[@]}"; do [[ "$vm" == "$1" ]] || kept+=("$vm"); done
  vms_made=(${kept[@]+"${kept[@]}"})
}

# Waits for a VM that turns itself off when all is well, and says on its serial port what is not.
await_end() {
  local vm="$1" status said polls place=("--zone=$zone" "--project=$project")
  explain "waits until $vm has turned itself off: its checks have passed then"
  [[ "$dry_run" == no ]] || return 0
  for ((polls = 0; polls < polls_max; polls++)); do
    status="$(gcloud compute instances describe "$vm" "${place[@]}" --format='value(status)')"
    [[ "$status" != TERMINATED && "$status" != STOPPED ]] || return 0
    said="$(gcloud compute instances get-serial-port-output "$vm" "${place[@]}" 2>/dev/null || true)"
    if [[ "$said" == *'DROPFORGE-CHECK failed'* ]]; then
      printf '%s\n' "$said" | grep -E ' (is|are) .*\.$| holds |cannot be imported|DROPFORGE-CHECK' | tail -n 20 >&2 || true
      fail "$vm has not passed its checks."
    fi
    sleep "$poll_seconds"
  done
  fail "$vm has said nothing for $((polls_max * poll_seconds)) s. Look at its serial port."
}

make_source() {
  local startup="$work/seal.sh" base="$image"
  write_startup "$startup" 'cd / && bash "$tools/provision.sh" clean &&' \
    '  bash "$tools/check-image.sh" --unbooted --root / && poweroff || echo "DROPFORGE-CHECK failed: not sealed."'
  if [[ -n "$from" ]]; then
    explain "an image of $from as it is, with whatever secrets it holds: it goes when this ends"
    raw_made=yes base="$raw_image"
    compute images create "$raw_image" --source-disk="$from" --source-disk-zone="$zone" \
      --labels=managed-by=dropforge,dropforge-purpose=machine-image
  fi
  explain 'the VM that the images are made of: it cleans itself, checks that, and turns itself off'
  create_vm "$source_vm" "$startup" --machine-type=n1-standard-4 --image="$base" --image-project="$project" \
    --boot-disk-size=100GB --boot-disk-type=pd-ssd --shielded-vtpm --shielded-integrity-monitoring
  await_end "$source_vm"
  explain 'machine images keep metadata too'
  compute instances remove-metadata "$source_vm" --zone="$zone" --all
  [[ -z "$from" ]] || compute images create "$image" --source-disk="$source_vm" --source-disk-zone="$zone" \
    --family="dropforge-$short" --labels="managed-by=dropforge,dropforge-build=$build" \
    ${storage_location:+"--storage-location=$storage_location"}
}

make_copy() {
  # gcloud has no option for a machine image's labels; those of its VM are in it.
  compute machine-images create "$1" --source-instance="$source_vm" --source-instance-zone="$zone" \
    --description="managed-by=dropforge runtime=$name build=$build" \
    ${storage_location:+"--storage-location=$storage_location"}
}

try_image() {
  local startup="$work/check.sh" options=() gpu_options=()
  [[ "$gpu" != none ]] || options+=(--no-gpu)
  [[ -z "$runtime" ]] || options+=(--runtime '"$tools/runtime.json"')
  write_startup "$startup" "bash \"\$tools/check-image.sh\" ${options[*]-} && poweroff"
  [[ "$gpu" == none ]] || gpu_options+=(--maintenance-policy=TERMINATE)
  # Other machines than N1 bring their GPUs along.
  [[ "$gpu" == none || "$machine_type" != n1-* ]] || gpu_options+=("--accelerator=type=$gpu,count=1")
  explain 'a VM of it, as jobs get one: the startup script and the agent must find what they need'
  create_vm "$check_vm" "$startup" --machine-type="$machine_type" "$@" ${gpu_options[@]+"${gpu_options[@]}"}
  await_end "$check_vm"
  delete_vm "$check_vm"
}

letter() { printf "\\x$(printf '%x' $((97 + $1)))"; }
machine_images=()
for ((copy = 0; copy < copies; copy++)); do machine_images+=("$image-$(letter "$copy")"); done

[[ "$copies" -eq 0 && -z "$from" ]] || make_source
if [[ "$copies" -eq 0 ]]; then
  try_image --image="$image" --image-project="$project" --boot-disk-size=100GB --boot-disk-type=pd-ssd
fi
for ((copy = 0; copy < copies; copy++)); do
  if [[ "$copy" -gt 0 ]]; then
    explain "waits $copy_wait_seconds s: one VM gives one machine image in 10 minutes"
    [[ "$dry_run" == yes ]] || sleep "$copy_wait_seconds"
  fi
  make_copy "${machine_images[copy]}"
  [[ "$copy" -gt 0 ]] || try_image --source-machine-image="${machine_images[0]}"
done

explain 'the entry for runtime_images in Terraform:'
quoted="$(printf '"%s", ' ${machine_images[@]+"${machine_images[@]}"})"
[[ "$copies" -gt 0 ]] || quoted=''
python_entry="${python_version:+, python_version = \"$python_version\"}"
printf '"%s" = { machine_images = [%s], image = "%s"%s }\n' "$name" "${quoted%, }" "$image" "$python_entry"
