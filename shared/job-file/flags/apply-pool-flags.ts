import { isPrebuiltImage } from '#shared/catalog/executor-images.ts';
import type { JobDraft, PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import { withArgs } from '#shared/job-file/flags/apply-group-flags.ts';
import type { Flags } from '#shared/job-file/flags/flag-list.ts';
import { splitList } from '#shared/job-file/flags/flag-values.ts';
import { readWorkerPools } from '#shared/job-file/flags/worker-pool-flags.ts';
import type { Located } from '#shared/job-file/parser/findings.ts';

type ProgramFlags = {
  readonly args: readonly Located<string>[];
  readonly command: readonly Located<string>[];
  readonly packageUris: readonly Located<string>[];
};

/** The job with the pools of the flags, which replace all pools of the file, and the programs of the flags in them. */
export function applyPoolFlags(draft: JobDraft, { flags }: Flags): JobDraft {
  const pools = readWorkerPools(flags('worker-pool-spec'));
  const given = {
    args: listOf(flags, 'args'),
    command: listOf(flags, 'command'),
    packageUris: listOf(flags, 'python-package-uris'),
  };
  return {
    ...draft,
    pools:
      pools.length > 0
        ? pools.map((pool) => withProgramFlags(pool, given, pool.program.packageUris))
        : draft.pools.map((pool) => withProgramFlags(pool, given)),
  };
}

/**
 * Applies the flags of the program. As in gcloud, arguments and command apply to every pool whose program supports
 * them.
 */
function withProgramFlags(
  pool: PoolDraft,
  given: ProgramFlags,
  ownPackages: readonly Located<string>[] = [],
): PoolDraft {
  const { pythonModule, executorImageUri, packageUris, imageUri } = pool.program;
  const isPython =
    [pythonModule, executorImageUri, packageUris].some((value) => value !== undefined) ||
    (imageUri !== undefined && given.command.length === 0 && isPrebuiltImage(imageUri.value));
  const uris = [...ownPackages, ...given.packageUris];
  const program = {
    ...pool.program,
    ...(isPython && uris.length > 0 && { packageUris: uris }),
    ...(imageUri !== undefined && given.command.length > 0 && { command: given.command }),
  };
  const hasArgs = given.args.length > 0 && (isPython || imageUri !== undefined);
  return { ...pool, program: hasArgs ? withArgs(program, given.args, 'vertex-ai') : program };
}

function listOf(flags: Flags['flags'], name: string): readonly Located<string>[] {
  return flags(name)
    .flatMap((text) => splitList(text))
    .map((value) => ({ value, path: `--${name}` }));
}
