#!/usr/bin/env bash
# The VM's shutdown script: tells the agent that the machine goes, and waits until it has saved the work and said so.
# systemd does not tell it in time: the unit of the startup script has KillMode=process, so a shutdown ends nothing but
# the script's runner, and everybody else hears SIGTERM when the network is gone (google-startup-scripts.service of
# github.com/GoogleCloudPlatform/guest-agent). Compute Engine guarantees nothing and gives 90 s, a Spot VM 30 s, unless
# it was made with a longer notice (cloud.google.com/compute/docs/shutdownscript).
set -u
home="${DROPFORGE_HOME:-/var/lib/dropforge}"
# For a shutdown that nobody hurries, from within the VM: ten minutes for saving (deadManSeconds), and one to say so.
seconds_max=660

# An update of Google's packages stops their services as well (guest-agent, issue 119), and then no machine goes. The
# jobs are asked, not `is-system-running`: to systemd the machine is starting as long as the startup script runs, and
# older versions say so even in a shutdown.
if jobs="$(systemctl list-jobs 2>/dev/null)" && [[ "$jobs" != *shutdown.target* ]]; then
  exit 0
fi

# The file may be of an earlier boot, and its number another process by now.
pid="$(cat "$home/agent.pid" 2>/dev/null)"
is_agent() {
  kill -0 "$pid" 2>/dev/null && { [[ ! -d /proc/self ]] || grep -qsF "$home/agent.pyz" "/proc/$pid/cmdline"; }
}

[[ "$pid" =~ ^[0-9]+$ ]] && is_agent || exit 0
kill -TERM "$pid"
while is_agent && ((SECONDS < seconds_max)); do sleep 0.2; done
