import { setTimeout as sleep } from 'node:timers/promises';
import { type CloudStatus, createAdminClient } from '#cli/client/admin-client.ts';
import { findCloud, findDataDir } from '#cli/client/find-cloud.ts';
import { type LoggedTransition, openTransitionLog } from '#cli/client/transition-log.ts';
import type { Command, Invocation } from '#cli/core/command.ts';
import { programName } from '#cli/core/program-name.ts';
import { describeEndpoints } from '#cli/render/describe-endpoints.ts';
import { CHANGE_COLUMNS, formatChange } from '#cli/render/describe-history.ts';
import { formatTable } from '#cli/render/format-table.ts';
import { formatBytes } from '#shared/text/format-number.ts';
import { formatDuration } from '#shared/text/format-time.ts';

const TRANSITIONS_SHOWN_MAX = 20;
const POLL_MS = 300;

export const status: Command = {
  operands: [],
  flags: [{ name: 'follow', summary: 'print transitions of jobs and tunings as they come, until Ctrl-C' }],
  notes: 'With --follow and --format=json, prints transitions only, one JSON object a line.',
  async run(invocation) {
    const { io, print, isSet, isJson } = invocation;
    const endpoints = await findCloud(invocation);
    const readTransitions = openTransitionLog(await findDataDir(invocation));
    const { vms, queues, storage } = await createAdminClient(endpoints.admin, io.interrupted).readStatus();
    const transitions = (await readTransitions()).slice(-TRANSITIONS_SHOWN_MAX);
    const vmRows = vms.map((vm) => [vm.vmName, vm.zone, vm.status, vm.jobId, String(vm.attempt)]);
    const queueRows = queues.map(({ topic, waiting, deadLetters }) => [topic, String(waiting), String(deadLetters)]);
    const text = [
      `${describeEndpoints(endpoints)}\nbuckets    ${describeStorage(storage)}`,
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
      const failure = await findCloud(invocation).then(
        () => undefined,
        (error: unknown) => error,
      );
      printLines(invocation, await readTransitions());
      if (failure !== undefined) {
        throw failure;
      }
      await sleep(POLL_MS, undefined, { signal: io.interrupted }).catch(() => undefined);
    }
    return 0;
  },
};

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
