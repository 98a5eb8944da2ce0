import type { TimestampMs } from '#shared/domain/job.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';

type OpenedShell = { readonly jobId: string; readonly replica: string; readonly by: string | null };

/** Records in the job's history that a shell was opened, or a command run, and who did. */
export async function recordShell(ports: EventPorts, shell: OpenedShell, at: TimestampMs): Promise<void> {
  const eventId = `shell-${shell.replica}-${at}`;
  await handleJobEvent(ports, { type: 'SHELL_OPENED', eventId, at, ...shell });
}
