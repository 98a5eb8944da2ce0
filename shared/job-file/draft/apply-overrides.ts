import { machineForGpus } from '#shared/catalog/machine-for-gpus.ts';
import { ROLES, type Role } from '#shared/domain/job-spec.ts';
import {
  type AcceleratorDraft,
  type Dialect,
  emptyPool,
  type JobDraft,
  type KeyedText,
  listDraftValues,
  type PoolDraft,
  type ProgramDraft,
} from '#shared/job-file/draft/job-draft.ts';
import { type Located, PLACEHOLDER_CODE } from '#shared/job-file/parser/findings.ts';
import type { Problem } from '#shared/protocol/report.ts';

type Optional<Fields> = { readonly [Name in keyof Fields]?: Fields[Name] | undefined };

/** The values of flags, in the spelling of `gcloud ai-platform jobs submit training`. */
export type TrainingOverrides = Optional<{
  labels: Readonly<Record<string, string>>;
  /** By environment variable, a reference to the secret that becomes its value. */
  secrets: Readonly<Record<string, string>>;
  /** `custom` or `CUSTOM`, `basic-gpu` or `BASIC_GPU`. */
  scaleTier: string;
  masterType: string;
  masterAccelerator: AcceleratorOverride;
  masterImageUri: string;
  worker: GroupOverrides;
  parameterServer: GroupOverrides;
  packageUris: readonly string[];
  pythonModule: string;
  args: readonly string[];
  region: string;
  jobDir: string;
  runtimeVersion: string;
  pythonVersion: string;
  serviceAccount: string;
  network: string;
  kmsKeyName: string;
  webAccess: boolean;
  /** These four are for jobs with a study; `algorithm` is in the API's spelling. */
  maxTrials: number;
  parallelTrials: number;
  algorithm: string;
  maxCostUsd: number;
}>;

/** The type in either spelling: `nvidia-tesla-t4` or `NVIDIA_TESLA_T4`. */
export type AcceleratorOverride = { readonly type: string; readonly count: number };

export type GroupOverrides = Optional<{
  machineType: string;
  count: number;
  accelerator: AcceleratorOverride;
  imageUri: string;
}>;

/** The path of missing fields' parent in pools that only flags define. */
const POOL_PATHS = {
  'ai-platform': { master: 'trainingInput', worker: 'trainingInput', ps: 'trainingInput', evaluator: 'trainingInput' },
  'vertex-ai': {
    master: 'workerPoolSpecs[0]',
    worker: 'workerPoolSpecs[1]',
    ps: 'workerPoolSpecs[2]',
    evaluator: 'workerPoolSpecs[3]',
  },
  dropforge: { master: '', worker: 'workers', ps: 'parameterServers', evaluator: 'evaluators' },
} as const satisfies Record<Dialect, Record<Role, string>>;

/**
 * Applies flags, which override the file's values. Lists and labels are replaced, not merged, as gcloud does. Findings
 * on such a value name its flag; a placeholder replaced by a flag is no longer a problem.
 */
export function applyOverrides(draft: JobDraft, overrides: TrainingOverrides): JobDraft {
  const { scaleTier, worker, parameterServer } = overrides;
  return withoutReplacedPlaceholders(draft, {
    ...withGroup(
      withGroup(withPackages(withMaster(draft, overrides), overrides), 'worker', worker),
      'ps',
      parameterServer,
    ),
    problems: [...draft.problems, ...listFlagsWithoutField(draft.dialect, overrides)],
    labels: pairsFrom('--labels', overrides.labels) ?? draft.labels,
    secrets: pairsFrom('--set-secrets', overrides.secrets) ?? draft.secrets,
    scaleTier: from('--scale-tier', scaleTier?.toUpperCase().replaceAll('-', '_')) ?? draft.scaleTier,
    region: from('--region', overrides.region) ?? draft.region,
    jobDir: from('--job-dir', overrides.jobDir) ?? draft.jobDir,
    runtimeVersion: from('--runtime-version', overrides.runtimeVersion) ?? draft.runtimeVersion,
    pythonVersion: from('--python-version', overrides.pythonVersion) ?? draft.pythonVersion,
    serviceAccount: from('--service-account', overrides.serviceAccount) ?? draft.serviceAccount,
    network: from('--network', overrides.network) ?? draft.network,
    kmsKeyName: from('--kms-key', overrides.kmsKeyName) ?? draft.kmsKeyName,
    // Dropforge's own form has no field for it: its jobs have a shell wherever the deployment allows one.
    webAccess:
      (draft.dialect === 'dropforge' ? undefined : from('--enable-web-access', overrides.webAccess)) ?? draft.webAccess,
    study: draft.study && {
      ...draft.study,
      maxTrials: from('--max-trial-count', overrides.maxTrials) ?? draft.study.maxTrials,
      parallelTrials: from('--parallel-trial-count', overrides.parallelTrials) ?? draft.study.parallelTrials,
      algorithm: from('--algorithm', overrides.algorithm) ?? draft.study.algorithm,
      maxCostUsd: from('--max-cost', overrides.maxCostUsd) ?? draft.study.maxCostUsd,
    },
  });
}

/** Flags for which a format has no field: its jobs have no such setting. */
const FLAGS_WITHOUT_FIELD = {
  'ai-platform': [],
  'vertex-ai': [
    ['scaleTier', '--scale-tier'],
    ['runtimeVersion', '--runtime-version'],
    ['pythonVersion', '--python-version'],
  ],
  dropforge: [['scaleTier', '--scale-tier']],
} as const satisfies Record<Dialect, readonly (readonly [keyof TrainingOverrides, string])[]>;

const DIALECT_NAMES = {
  'ai-platform': 'AI Platform',
  'vertex-ai': 'Vertex AI',
  dropforge: 'Dropforge',
} as const satisfies Record<Dialect, string>;

function listFlagsWithoutField(dialect: Dialect, overrides: TrainingOverrides): readonly Problem[] {
  const given = FLAGS_WITHOUT_FIELD[dialect].filter(([name]) => overrides[name] !== undefined);
  return given.map(([, path]) => ({
    code: 'FLAG_NOT_IN_FORM',
    message: `The ${DIALECT_NAMES[dialect]} job file format has no field for ${path}.`,
    remedy: 'Remove the flag, or set the equivalent field of that format in the job file.',
    path,
  }));
}

function withMaster(draft: JobDraft, overrides: TrainingOverrides): JobDraft {
  const { masterType, masterAccelerator, masterImageUri, packageUris, pythonModule } = overrides;
  const args = fromEach('-- ARGS', overrides.args);
  const isGiven = [masterType, masterAccelerator, masterImageUri, packageUris, pythonModule, args].some(
    (value) => value !== undefined,
  );
  if (!isGiven) {
    return draft;
  }
  return withPool(draft, 'master', (pool) => {
    const program: ProgramDraft = {
      ...pool.program,
      imageUri: from('--master-image-uri', masterImageUri) ?? pool.program.imageUri,
      packageUris: fromEach('--packages', packageUris) ?? pool.program.packageUris,
      pythonModule: from('--module-name', pythonModule) ?? pool.program.pythonModule,
    };
    const accelerator = acceleratorFrom('--master-accelerator', masterAccelerator);
    return {
      ...pool,
      machineType: from('--master-machine-type', masterType) ?? machineTypeFor(accelerator, pool),
      accelerator: accelerator ?? pool.accelerator,
      program: args === undefined ? program : withArgs(program, args, draft.dialect),
    };
  });
}

/** In Vertex AI's format each pool names its own packages: those of the flags are for all pools that run Python. */
function withPackages(draft: JobDraft, { packageUris, pythonModule }: TrainingOverrides): JobDraft {
  if (draft.dialect !== 'vertex-ai' || packageUris === undefined) {
    return draft;
  }
  const runsPython = ({ program }: PoolDraft) =>
    program.pythonModule !== undefined || program.executorImageUri !== undefined;
  const fill = (pool: PoolDraft): PoolDraft => ({
    ...pool,
    program: {
      ...pool.program,
      packageUris: fromEach('--packages', packageUris),
      pythonModule: pool.program.pythonModule ?? from('--module-name', pythonModule),
    },
  });
  return {
    ...draft,
    pools: draft.pools.map((pool) => (pool.role !== 'master' && runsPython(pool) ? fill(pool) : pool)),
  };
}

/** In Dropforge's own format the machine type follows from the GPUs, also if a flag changes them. */
function machineTypeFor(given: AcceleratorDraft | undefined, pool: PoolDraft): Located<string> | undefined {
  const { type, count } = given ?? {};
  const isDerived = pool.machineType !== undefined && pool.machineType.path === pool.accelerator.type?.path;
  if (!isDerived || type === undefined || typeof count?.value !== 'number') {
    return pool.machineType;
  }
  return from(type.path, machineForGpus({ type: type.value, count: count.value }));
}

/** Vertex AI has a list of arguments for each kind of program; the other dialects have one for both. */
export function withArgs(program: ProgramDraft, args: readonly Located<string>[], dialect: Dialect): ProgramDraft {
  const isContainer = dialect === 'vertex-ai' && program.imageUri !== undefined;
  return isContainer ? { ...program, containerArgs: args } : { ...program, args };
}

function withGroup(draft: JobDraft, role: 'worker' | 'ps', given: GroupOverrides | undefined): JobDraft {
  if (given === undefined) {
    return draft;
  }
  const flag = role === 'ps' ? '--parameter-server' : '--worker';
  return withPool(draft, role, (pool) => ({
    ...pool,
    count: from(`${flag}-count`, given.count) ?? pool.count,
    machineType: from(`${flag}-machine-type`, given.machineType) ?? pool.machineType,
    accelerator: acceleratorFrom(`${flag}-accelerator`, given.accelerator) ?? pool.accelerator,
    program: { ...pool.program, imageUri: from(`${flag}-image-uri`, given.imageUri) ?? pool.program.imageUri },
  }));
}

/** Changes a role's pool, which is added if the file has none; the master's pool is always present. */
function withPool(draft: JobDraft, role: Role, change: (pool: PoolDraft) => PoolDraft): JobDraft {
  const lastIndex = Math.max(ROLES.indexOf(role), ...draft.pools.map((pool) => ROLES.indexOf(pool.role)));
  const pools = ROLES.slice(0, lastIndex + 1).flatMap((one) => {
    const known = draft.pools.find((pool) => pool.role === one);
    // In Vertex AI's list the index of a pool is its role, so absent pools are present too.
    const isThere = known !== undefined || one === role || one === 'master' || draft.dialect === 'vertex-ai';
    const pool = known ?? emptyPool(one, POOL_PATHS[draft.dialect][one]);
    return isThere ? [one === role ? change(pool) : pool] : [];
  });
  return { ...draft, pools };
}

function acceleratorFrom(flag: string, given: AcceleratorOverride | undefined): AcceleratorDraft | undefined {
  return (
    given && {
      type: from(flag, given.type.toUpperCase().replaceAll('-', '_')),
      count: from(flag, given.count),
    }
  );
}

/** Counts are numbers, so a placeholder in their place is reported by the reader already. */
function withoutReplacedPlaceholders(file: JobDraft, draft: JobDraft): JobDraft {
  const kept = new Set(listDraftValues(draft).map(({ path }) => path));
  const filled = new Set(listDraftValues(file).flatMap(({ path }) => (kept.has(path) ? [] : [path])));
  const isOpen = ({ code, path }: JobDraft['problems'][number]) =>
    code !== PLACEHOLDER_CODE || path === undefined || !filled.has(path);
  return { ...draft, problems: draft.problems.filter(isOpen) };
}

function from<T>(flag: string, value: T | undefined): Located<T> | undefined {
  return value === undefined ? undefined : { value, path: flag };
}

function fromEach(flag: string, values: readonly string[] | undefined): readonly Located<string>[] | undefined {
  return values?.map((value) => ({ value, path: flag }));
}

function pairsFrom(
  flag: string,
  pairs: Readonly<Record<string, string>> | undefined,
): readonly Located<KeyedText>[] | undefined {
  return pairs && Object.entries(pairs).map(([key, text]) => ({ value: { key, text }, path: flag }));
}
