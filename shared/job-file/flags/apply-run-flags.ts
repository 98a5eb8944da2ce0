import { parseDurationMs } from '#shared/job-file/draft/duration.ts';
import {
  type AcceleratorDraft,
  type JobDraft,
  type KeyedText,
  masterOf,
  type PoolDraft,
} from '#shared/job-file/draft/job-draft.ts';
import { withPool } from '#shared/job-file/flags/apply-group-flags.ts';
import { type Flags, InvalidFlagError } from '#shared/job-file/flags/flag-list.ts';
import { readFlag } from '#shared/job-file/flags/flag-values.ts';
import { toApiDuration } from '#shared/job-file/formats/dropforge/durations.ts';
import { parseGpus } from '#shared/job-file/formats/dropforge/gpus.ts';
import { machineTypeFor } from '#shared/job-file/formats/dropforge/machines.ts';
import type { Located } from '#shared/job-file/parser/findings.ts';
import { CREDENTIAL_KINDS, findCredential } from '#shared/package/scan/credential-patterns.ts';

/** The flags that gcloud does not have, in the order in which they are written. */
export const RUN_FLAGS: readonly string[] = ['gpu', 'spot', 'max-runtime', 'env'];

/** AI Platform's tiers of one machine: the machine that `--gpu` asks for takes its place. */
const TIERS_OF_ONE_MACHINE: readonly (string | undefined)[] = [undefined, 'BASIC', 'BASIC_GPU'];

/** The job of any format with GPUs, Spot VMs, time limit and variables of the flags. Throws InvalidFlagError. */
export function applyRunFlags(draft: JobDraft, flags: Flags): JobDraft {
  const gpus = readFlag(flags, 'gpu', parseGpus);
  const accelerator = gpus && {
    type: { ...gpus, value: gpus.value.type },
    count: { ...gpus, value: gpus.value.count },
  };
  const variables = flags.flags('env').map(readVariable);
  const { pools } = withPool(draft, 'master', (pool) => pool);
  const master = masterOf({ ...draft, pools });
  const isTierReplaced = gpus !== undefined && draft.dialect === 'ai-platform';
  return {
    ...draft,
    ...(isTierReplaced &&
      TIERS_OF_ONE_MACHINE.includes(draft.scaleTier?.value) && { scaleTier: { ...gpus, value: 'CUSTOM' } }),
    ...(flags.isSet('spot') && { strategy: { value: 'SPOT', path: '--spot' } }),
    maxRunningTime: readFlag(flags, 'max-runtime', parseDuration) ?? draft.maxRunningTime,
    pools: pools.map((pool) =>
      withVariables(accelerator && isLike(pool, master, draft) ? withGpus(pool, accelerator) : pool, draft, variables),
    ),
  };
}

/** Groups of Dropforge's format that name no machine of their own are like the first one. */
function isLike(pool: PoolDraft, master: PoolDraft, { dialect }: JobDraft): boolean {
  return (
    pool === master ||
    (dialect === 'dropforge' &&
      pool.machineType?.path === master.machineType?.path &&
      pool.accelerator.type?.path === master.accelerator.type?.path)
  );
}

/** A machine type that the job names stays; one that follows from its GPUs does not. */
function withGpus(pool: PoolDraft, accelerator: AcceleratorDraft): PoolDraft {
  const isNamed = pool.machineType !== undefined && pool.machineType.path !== pool.accelerator.type?.path;
  return { ...pool, accelerator, machineType: isNamed ? pool.machineType : machineTypeFor(accelerator) };
}

/** The last variable of a name counts: that of a flag. Pools without variables of their own have the master's. */
function withVariables(pool: PoolDraft, { dialect }: JobDraft, variables: readonly Located<KeyedText>[]): PoolDraft {
  const { environment, ...program } = pool.program;
  const hasProgram = Object.values(program).some((value) => value !== undefined);
  const isOwn = pool.role === 'master' || environment.length > 0 || (dialect === 'vertex-ai' && hasProgram);
  return isOwn ? { ...pool, program: { ...program, environment: [...environment, ...variables] } } : pool;
}

/** `KEY=VALUE`, whose value is not split at commas. */
function readVariable(text: string): Located<KeyedText> {
  const [, key = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (key === '') {
    throw new InvalidFlagError(`--env ${text}: use KEY=VALUE, and repeat the flag for each variable.`);
  }
  // The name of a variable can tell that its value is a secret, as in an .env file.
  const kind = findCredential('.env', text);
  if (kind !== null) {
    const otherwise = kind === 'SECRET_SETTING' ? ' If it is not one, write it under env: in the job file.' : '';
    throw new InvalidFlagError(
      `--env ${key} contains ${CREDENTIAL_KINDS[kind]}, which everyone who can read the job could use. ` +
        `Store it as a secret, and pass --set-secrets=${key}=SECRET instead.${otherwise}`,
    );
  }
  return { value: { key, text: value }, path: '--env' };
}

function parseDuration(text: string): string {
  const duration = toApiDuration(text);
  if (parseDurationMs(duration) === undefined) {
    throw new InvalidFlagError(`--max-runtime ${text}: use a duration, such as 90m, 2h or 1d.`);
  }
  return duration;
}
