import type { Invocation } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { CUSTOM_JOB_FOREIGN_FLAGS, judgeForeignFlags } from '#cli/core/gcloud-flags.ts';
import { readAllPairs, readKmsKey, splitList } from '#cli/submit/flag-values.ts';
import { type JobRequest, readConfig } from '#cli/submit/job-request.ts';
import { type PackageSource, readArchives } from '#cli/submit/package-source.ts';
import { type PoolRequest, readWorkerPools } from '#cli/submit/worker-pool-flags.ts';
import { applyOverrides, withArgs } from '#shared/job-file/draft/apply-overrides.ts';
import { EMPTY_DRAFT, type JobDraft, type PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import type { Located } from '#shared/job-file/parser/findings.ts';

type ProgramFlags = {
  readonly args: readonly Located<string>[];
  readonly command: readonly Located<string>[];
  readonly packageUris: readonly PackageSource[];
};

/** Vertex AI's limit (CustomJob.displayName). */
const DISPLAY_NAME_CHARACTERS_MAX = 128;

/** What a command line in the words of `gcloud ai custom-jobs create` asks for. */
export async function readCustomJobRequest(invocation: Invocation): Promise<JobRequest> {
  const { flag, flags, io } = invocation;
  const displayName = flag('display-name');
  const specs = readWorkerPools(flags('worker-pool-spec'), io.cwd);
  if (displayName === undefined || displayName === '') {
    throw new UsageFailure('--display-name is missing: name the job.');
  }
  if (flag('config') === undefined && specs.length === 0) {
    throw new UsageFailure('Say what is to run: with --worker-pool-spec, or in a file with --config.');
  }
  const notes = judgeForeignFlags(CUSTOM_JOB_FOREIGN_FLAGS, invocation);
  const given: ProgramFlags = {
    args: listOf(flags, 'args'),
    command: listOf(flags, 'command'),
    packageUris: flags('python-package-uris').flatMap((list) =>
      readArchives(list, { cwd: io.cwd, flag: '--python-package-uris' }),
    ),
  };
  const overrides = {
    labels: readAllPairs('labels', flags),
    secrets: readAllPairs('set-secrets', flags),
    region: flag('region'),
    serviceAccount: flag('service-account'),
    network: flag('network'),
    kmsKeyName: readKmsKey(flag),
  };
  const packages = [...new Set([...specs.flatMap((pool) => pool.packages), ...given.packageUris])];
  const file = await readSpec(invocation);
  const requestOf = (name: string): JobRequest => ({
    file,
    packages,
    notes,
    applyFlags: (draft, addressOf) => ({
      ...applyOverrides(draft, overrides),
      displayName: { value: name, path: '--display-name' },
      pools: poolsOf(draft, specs).map((request) => withProgramFlags(request, { given, addressOf })),
    }),
    rename: (suffix) => requestOf(`${displayName.slice(0, DISPLAY_NAME_CHARACTERS_MAX - suffix.length - 1)} ${suffix}`),
  });
  return requestOf(displayName);
}

async function readSpec(invocation: Invocation): Promise<JobRequest['file']> {
  const file = await readConfig(invocation, { ...EMPTY_DRAFT, dialect: 'vertex-ai' });
  if (file.draft !== null && file.draft.dialect !== 'vertex-ai') {
    const config = invocation.flag('config');
    throw new UsageFailure(
      `${config} is no CustomJobSpec of Vertex AI: \`dropforge jobs submit training JOB --config ${config}\` takes it.`,
    );
  }
  return file;
}

/** The flags' pools take the place of the file's, all together. */
function poolsOf({ pools }: JobDraft, specs: readonly PoolRequest[]): readonly PoolRequest[] {
  return specs.length > 0 ? specs : pools.map((pool) => ({ pool, packages: [] }));
}

/** As in gcloud, arguments and command are for every pool that has a program of that kind. */
function withProgramFlags(
  { pool, packages }: PoolRequest,
  { given, addressOf }: { readonly given: ProgramFlags; readonly addressOf: (source: PackageSource) => string },
): PoolDraft {
  const { pythonModule, executorImageUri, packageUris, imageUri } = pool.program;
  const isPython = [pythonModule, executorImageUri, packageUris].some((said) => said !== undefined);
  const sources = [
    ...packages.map((source) => ({ source, path: pool.path })),
    ...given.packageUris.map((source) => ({ source, path: '--python-package-uris' })),
  ];
  const program = {
    ...pool.program,
    ...(isPython && sources.length > 0
      ? { packageUris: sources.map(({ source, path }) => ({ value: addressOf(source), path })) }
      : {}),
    ...(imageUri !== undefined && given.command.length > 0 ? { command: given.command } : {}),
  };
  const takesArgs = given.args.length > 0 && (isPython || imageUri !== undefined);
  return { ...pool, program: takesArgs ? withArgs(program, given.args, 'vertex-ai') : program };
}

function listOf(flags: Invocation['flags'], name: string): readonly Located<string>[] {
  return flags(name)
    .flatMap((text) => splitList(text))
    .map((value) => ({ value, path: `--${name}` }));
}
