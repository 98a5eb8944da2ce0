import { setTimeout as sleep } from 'node:timers/promises';
import { type CloudStatus, createAdminClient } from '#cli/client/admin-client.ts';
import { createApiClient } from '#cli/client/api-client.ts';
import { findCloud, nameOf } from '#cli/client/find-cloud.ts';
import { findTarget } from '#cli/client/find-target.ts';
import { type LoggedTransition, openTransitionLog } from '#cli/client/transition-log.ts';
import type { Command, ExitCode, Invocation } from '#cli/core/command.ts';
import { Failure, UsageFailure } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
import { describeDeployment, describeEndpoints } from '#cli/render/describe-endpoints.ts';
import { CHANGE_COLUMNS, formatChange } from '#cli/render/describe-history.ts';
import { formatTable } from '#cli/render/format-table.ts';
import { readEndpoints } from '#infra/embedded/data-dir/endpoints.ts';
import { formatBytes, formatCount } from '#shared/text/format-number.ts';
import { formatDuration } from '#shared/text/format-time.ts';
import { describeRunning } from '#shared/views/describe/describe-running.ts';

const TRANSITIONS_SHOWN_MAX = 20;
const POLL_MS = 300;

export const status: Command = {
  operands: [],
  example: '--follow',
  flags: [{ name: 'follow', summary: 'print transitions of jobs and tunings as they come, until Ctrl-C' }],
  notes: 'With --follow and --format=json, prints transitions only, one JSON object a line.',
  async run(invocation) {
    const { io, print, isSet, isJson } = invocation;
    if (invocation.deployment !== undefined) {
      return await showDeployment(invocation);
    }
    const endpoints = await findCloud(invocation);
    const readTransitions = openTransitionLog(endpoints.dataDir);
    const { vms, queues, storage } = await createAdminClient(endpoints.admin, io.interrupted).readStatus();
    const transitions = (await readTransitions()).slice(-TRANSITIONS_SHOWN_MAX);
    const vmRows = vms.map((vm) => [vm.vmName, vm.zone, vm.status, vm.jobId, String(vm.attempt)]);
    const queueRows = queues.map(({ topic, waiting, deadLetters }) => [topic, String(waiting), String(deadLetters)]);
    const text = [
      `${describeEndpoints(nameOf(endpoints), endpoints)}\nbuckets    ${describeStorage(storage)}`,
      vms.length === 0 ? 'No VMs are running.' : formatTable(['VM', 'ZONE', 'STATUS', 'JOB', 'ATTEMPT'], vmRows),
      queues.length === 0 ? 'The queues are empty.' : formatTable(['TOPIC', 'WAITING', 'DEAD LETTERS'], queueRows),
      ...(transitions.length === 0 ? [] : [formatTable(COLUMNS, transitions.map(formatTransition))]),
    ].join('\n\n');
    if (!isSet('follow') || !isJson) {
      print({ json: { endpoints, vms, queues, storage, transitions }, text });
    } else {
      printLines(invocation, transitions);
    }
    while (isSet('follow') && !io.interrupted.aborted) {
      // The cloud is looked for first: the last lines that it wrote are printed before its end is reported.
      const isRunning = (await readEndpoints(endpoints.dataDir)) !== undefined;
      printLines(invocation, await readTransitions());
      if (!isRunning) {
        throw new Failure(`The embedded cloud has stopped: run \`${programName()} up\` to start it again.`);
      }
      await sleep(POLL_MS, undefined, { signal: io.interrupted }).catch(() => undefined);
    }
    return 0;
  },
};

async function showDeployment(invocation: Invocation): Promise<ExitCode> {
  if (invocation.isSet('follow')) {
    throw new UsageFailure(
      '--follow works only with an embedded cloud. Of a deployment, the logs of its functions have every transition (docs/log-lines.md).',
    );
  }
  const target = await findTarget(invocation);
  const running = await createApiClient(target.api, invocation.io.interrupted).getRunning();
  const { projectId, uploadBucket, jobsBucket, pageUrl } = target;
  const text = `${describeRunning(running)}, ${formatCount(running.unfinishedJobs, 'job')} not finished`;
  const json = { cloud: target.name, projectId, api: target.api.url, pageUrl, uploadBucket, jobsBucket, running };
  invocation.print({ json, text: describeDeployment(target, text) });
  return 0;
}

const COLUMNS = ['TIME', 'JOB', 'IN STATE', ...CHANGE_COLUMNS];

function formatTransition(transition: LoggedTransition): readonly string[] {
  const { time, jobId, inStateMs } = transition;
  return [time.slice(11, 19), jobId, inStateMs === null ? '' : formatDuration(inStateMs), ...formatChange(transition)];
}

function printLines({ io, isJson }: Invocation, transitions: readonly LoggedTransition[]): void {
  for (const transition of transitions) {
    const line = isJson ? JSON.stringify(transition) : formatTransition(transition).join('  ').trimEnd();
    io.stdout.write(`${line}\n`);
  }
}

function describeStorage({ sizeBytes, noncurrentBytes }: CloudStatus['storage']): string {
  const noncurrent = `${formatBytes(noncurrentBytes)} of it noncurrent versions`;
  const hint = noncurrentBytes === 0 ? '' : ` (to delete them, run \`${programName()} rm -r --all-versions gs://…\`)`;
  return `${formatBytes(sizeBytes)} on disk, ${noncurrent}${hint}`;
}
