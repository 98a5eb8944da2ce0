import type { Invocation } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { CUSTOM_JOB_GCLOUD_ONLY_FLAGS, checkGcloudOnlyFlags } from '#cli/core/gcloud-flags.ts';
import { readAllPairs, readKmsKey, splitList } from '#cli/submit/flag-values.ts';
import { type JobRequest, readConfig } from '#cli/submit/job-request.ts';
import { type PackageSource, readArchives } from '#cli/submit/package-source.ts';
import { type PoolRequest, readWorkerPools } from '#cli/submit/worker-pool-flags.ts';
import { isPrebuiltImage } from '#shared/catalog/executor-images.ts';
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

/** Reads the flags of `gcloud ai custom-jobs create`. */
export async function readCustomJobRequest(invocation: Invocation): Promise<JobRequest> {
  const { flag, flags, isSet, io } = invocation;
  const displayName = flag('display-name');
  const specs = readWorkerPools(flags('worker-pool-spec'), io.cwd);
  if (displayName === undefined || displayName === '') {
    throw new UsageFailure('--display-name is missing: pass a name for the job.');
  }
  if (flag('config') === undefined && specs.length === 0) {
    throw new UsageFailure('The program to run is missing: pass --worker-pool-spec, or a file with --config.');
  }
  const notes = checkGcloudOnlyFlags(CUSTOM_JOB_GCLOUD_ONLY_FLAGS, invocation);
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
    webAccess: isSet('enable-web-access') || undefined,
  };
  const packages = [...new Set([...specs.flatMap((pool) => pool.packages), ...given.packageUris])];
  const file = await readSpec(invocation);
  const requestOf = (name: string): JobRequest => ({
    file,
    packages,
    notes,
    applyFlags: (draft, uriOf) => ({
      ...applyOverrides(draft, overrides),
      displayName: { value: name, path: '--display-name' },
      pools: choosePools(draft, specs).map((request) => withProgramFlags(request, { given, uriOf })),
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
      `${config} is not a Vertex AI CustomJobSpec. Submit it with \`dropforge jobs submit training JOB --config ${config}\`.`,
    );
  }
  return file;
}

/** If the flags specify any pool, they replace all pools of the file. */
function choosePools({ pools }: JobDraft, specs: readonly PoolRequest[]): readonly PoolRequest[] {
  return specs.length > 0 ? specs : pools.map((pool) => ({ pool, packages: [] }));
}

/** As in gcloud, arguments and command apply to every pool whose program supports them. */
function withProgramFlags(
  { pool, packages }: PoolRequest,
  { given, uriOf }: { readonly given: ProgramFlags; readonly uriOf: (source: PackageSource) => string },
): PoolDraft {
  const { pythonModule, executorImageUri, packageUris, imageUri } = pool.program;
  const isPython =
    [pythonModule, executorImageUri, packageUris].some((value) => value !== undefined) ||
    (imageUri !== undefined && given.command.length === 0 && isPrebuiltImage(imageUri.value));
  const sources = [
    ...packages.map((source) => ({ source, path: pool.path })),
    ...given.packageUris.map((source) => ({ source, path: '--python-package-uris' })),
  ];
  const program = {
    ...pool.program,
    ...(isPython && sources.length > 0
      ? { packageUris: sources.map(({ source, path }) => ({ value: uriOf(source), path })) }
      : {}),
    ...(imageUri !== undefined && given.command.length > 0 ? { command: given.command } : {}),
  };
  const hasArgs = given.args.length > 0 && (isPython || imageUri !== undefined);
  return { ...pool, program: hasArgs ? withArgs(program, given.args, 'vertex-ai') : program };
}

function listOf(flags: Invocation['flags'], name: string): readonly Located<string>[] {
  return flags(name)
    .flatMap((text) => splitList(text))
    .map((value) => ({ value, path: `--${name}` }));
}
