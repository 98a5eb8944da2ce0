import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { findTarget } from '#cli/client/find-target.ts';
import { readGsUri } from '#cli/client/gs-uri.ts';
import { createObjectClient } from '#cli/client/object-client.ts';
import { recordProfile } from '#cli/client/profile-client.ts';
import type { Command, Invocation } from '#cli/core/command.ts';
import { describeError, Failure, Interruption, UsageFailure } from '#cli/core/failure.ts';
import { checkJobFlags, GCLOUD_JOB_FLAGS } from '#cli/core/gcloud-flags.ts';
import { describeProfile, describeProgress } from '#cli/render/describe-profile.ts';
import { PROFILE_SECONDS_DEFAULT, PROFILE_SECONDS_MAX } from '#shared/domain/profile.ts';
import type { ProfileView } from '#shared/protocol/profile-view.ts';

export const profile: Command = {
  operands: [{ name: 'JOB', summary: 'the id of a running job', count: 'one' }],
  flags: [
    {
      name: 'seconds',
      value: 'N',
      summary: `how long to record, 1 to ${PROFILE_SECONDS_MAX} (default ${PROFILE_SECONDS_DEFAULT})`,
    },
    { name: 'replica', value: 'REPLICA', summary: 'the replica to profile, such as worker-1 (default master-0)' },
    { name: 'output', value: 'FILE', summary: 'also write the profile to this file' },
    ...GCLOUD_JOB_FLAGS,
  ],
  notes:
    'Samples the stacks of the main Python process with py-spy, without stopping it, and says what limits the training:\n' +
    'its input, Python code or the device. The file is kept in the job directory, below dropforge-profiles/.',
  async run(invocation) {
    const { flag, io, operands, print } = invocation;
    const seconds = readSeconds(flag('seconds'));
    const [jobId = ''] = operands;
    const target = await findTarget(invocation);
    checkJobFlags(invocation, target);
    const wanted = { jobId, seconds, replica: flag('replica') };
    const recorded = await reportInterruption(
      invocation,
      recordProfile(target.api, wanted, { signal: io.interrupted, onView: createProgress(invocation) }),
    );
    const output = flag('output');
    if (output !== undefined && recorded.file !== null) {
      const content = await createObjectClient(target).readText(readGsUri(recorded.file.uri));
      await save(resolve(io.cwd, output), content);
    }
    print({ json: recorded, text: `${describeProfile(recorded, output ?? null)}\n` });
    return 0;
  },
};

/** Writes a line to stderr whenever the state changes. */
function createProgress({ io }: Invocation): (view: ProfileView) => void {
  let shown: ProfileView['state'] | null = null;
  return (view) => {
    if (view.state !== shown && view.state !== 'FAILED') {
      shown = view.state;
      io.stderr.write(`${describeProgress(view)}\n`);
    }
  };
}

async function reportInterruption<T>({ io, operands }: Invocation, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw io.interrupted.aborted
      ? new Interruption(
          `Interrupted. The profile of job ${operands[0]} is still recorded, and saved below dropforge-profiles/ in its job directory.`,
        )
      : error;
  }
}

async function save(path: string, content: string | undefined): Promise<void> {
  if (content === undefined) {
    throw new Failure('The profile was deleted from the job directory just now: record it again.');
  }
  try {
    await writeFile(path, content);
  } catch (error) {
    throw new Failure(`The profile cannot be written to ${path} (${describeError(error)}): check --output.`);
  }
}

function readSeconds(text: string | undefined): number {
  const seconds = Number(text?.replace(/s$/, '') ?? PROFILE_SECONDS_DEFAULT);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > PROFILE_SECONDS_MAX) {
    throw new UsageFailure(`--seconds must be a whole number from 1 to ${PROFILE_SECONDS_MAX}, not '${text}'.`);
  }
  return seconds;
}
