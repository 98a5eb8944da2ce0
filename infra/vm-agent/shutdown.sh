#!/usr/bin/env bash
# The VM's shutdown script: signals the agent, and waits until it has saved the output and reported its exit.
# systemd does not signal the agent in time: the startup script's unit has KillMode=process, so a shutdown stops only
# the process that runs the script, and all others receive SIGTERM after the network is down
# (google-startup-scripts.service in github.com/GoogleCloudPlatform/guest-agent). Compute Engine gives a shutdown script
# 90 s, or 30 s on a Spot VM, on a best-effort basis, unless the VM was created with a longer notice
# (cloud.google.com/compute/docs/shutdownscript).
set -u
home="${DROPFORGE_HOME:-/var/lib/dropforge}"
# For a shutdown from within the VM, which has no time limit: 10 minutes for the agent to save the output
# (the control-plane timeout), and one to report its exit.
seconds_max=660

# An update of Google's guest packages stops their services, too (guest-agent, issue 119), without a shutdown of the VM.
# `systemctl list-jobs` tells the two apart. `is-system-running` does not: it says `starting` while the startup script
# runs, in older versions even during a shutdown.
if jobs="$(systemctl list-jobs 2>/dev/null)" && [[ "$jobs" != *shutdown.target* ]]; then
  exit 0
fi

# The file may be from an earlier boot, and its process id may have been reused.
pid="$(cat "$home/agent.pid" 2>/dev/null)"
is_agent() {
  kill -0 "$pid" 2>/dev/null && { [[ ! -d /proc/self ]] || grep -qsF "$home/agent.pyz" "/proc/$pid/cmdline"; }
}

[[ "$pid" =~ ^[0-9]+$ ]] && is_agent || exit 0
kill -TERM "$pid"
while is_agent && ((SECONDS < seconds_max)); do sleep 0.2; done
