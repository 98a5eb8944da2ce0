import type { Invocation } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { CUSTOM_JOB_GCLOUD_ONLY_FLAGS, checkGcloudOnlyFlags } from '#cli/core/gcloud-flags.ts';
import { type ConfigFile, type JobRequest, readConfig } from '#cli/submit/job-request.ts';
import { readArchives } from '#cli/submit/package-source.ts';
import { readPoolPackages } from '#cli/submit/pool-packages.ts';
import { writeOverrides } from '#cli/submit/write-overrides.ts';
import { joinList } from '#shared/job-file/flags/flag-values.ts';

const COMMAND = 'custom-jobs create';

/** Vertex AI's limit (CustomJob.displayName). */
const DISPLAY_NAME_CHARACTERS_MAX = 128;

/** Reads the flags of `gcloud ai custom-jobs create`. */
export async function readCustomJobRequest(invocation: Invocation): Promise<JobRequest> {
  const { flag, flags, io } = invocation;
  const displayName = flag('display-name');
  const pools = readPoolPackages(flags('worker-pool-spec'), io.cwd);
  if (displayName === undefined || displayName === '') {
    throw new UsageFailure('--display-name is missing: pass a name for the job.');
  }
  if (flag('config') === undefined && flags('worker-pool-spec').length === 0) {
    throw new UsageFailure('The program to run is missing: pass --worker-pool-spec, or a file with --config.');
  }
  const notes = checkGcloudOnlyFlags(CUSTOM_JOB_GCLOUD_ONLY_FLAGS, invocation);
  const archives = flags('python-package-uris').flatMap((list) =>
    readArchives(list, { cwd: io.cwd, flag: '--python-package-uris' }),
  );
  const file = await readSpec(invocation);
  const requestOf = (name: string): JobRequest => ({
    file,
    command: COMMAND,
    packages: [...new Set([...pools.packages, ...archives])],
    notes,
    writeFlags: (uriOf) =>
      writeOverrides(COMMAND, invocation, {
        'display-name': [name],
        'worker-pool-spec': pools.write(uriOf),
        'python-package-uris': archives.length === 0 ? [] : [joinList(archives.map(uriOf))],
      }),
    rename: (suffix) => requestOf(`${displayName.slice(0, DISPLAY_NAME_CHARACTERS_MAX - suffix.length - 1)} ${suffix}`),
  });
  return requestOf(displayName);
}

async function readSpec(invocation: Invocation): Promise<ConfigFile> {
  const file = await readConfig(invocation, COMMAND);
  const { draft } = file.reading;
  if (draft !== null && draft.dialect !== 'vertex-ai') {
    const config = invocation.flag('config');
    throw new UsageFailure(
      `${config} is not a Vertex AI CustomJobSpec. Submit it with \`dropforge jobs submit training JOB --config ${config}\`.`,
    );
  }
  return file;
}
