import { ROLES, type Role } from '#shared/domain/replica-name.ts';
import {
  type AcceleratorDraft,
  type Dialect,
  emptyPool,
  type JobDraft,
  type PoolDraft,
  type ProgramDraft,
} from '#shared/job-file/draft/job-draft.ts';
import { type Flags, InvalidFlagError } from '#shared/job-file/flags/flag-list.ts';
import { parseCount, readAccelerator, readFlag, readWords, splitList } from '#shared/job-file/flags/flag-values.ts';
import { machineTypeFor } from '#shared/job-file/formats/dropforge/machines.ts';
import type { Located } from '#shared/job-file/parser/findings.ts';

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

/** The flags of the roles: AI Platform's three. */
const GROUPS = [
  ['master', 'master'],
  ['worker', 'worker'],
  ['parameter-server', 'ps'],
] as const;

/** The job with the machines and the program of the flags; each role's flags are those of its own pool. */
export function applyGroupFlags(draft: JobDraft, flags: Flags): JobDraft {
  const withMachines = GROUPS.reduce<JobDraft>((result, [name, role]) => {
    const machineType = readWords(flags, `${name}-machine-type`);
    const count = readFlag(flags, `${name}-count`, parseCount);
    if (role !== 'master' && (machineType === undefined) !== (count === undefined)) {
      throw new InvalidFlagError(`--${name}-machine-type and --${name}-count must be used together.`);
    }
    const accelerator = readAccelerator(flags, `${name}-accelerator`);
    const imageUri = readWords(flags, `${name}-image-uri`);
    return [machineType, accelerator, imageUri].every((value) => value === undefined)
      ? result
      : withPool(result, role, (pool) => ({
          ...pool,
          count: count ?? pool.count,
          machineType: machineType ?? machineTypeOf(pool, accelerator),
          accelerator: accelerator ?? pool.accelerator,
          program: { ...pool.program, imageUri: imageUri ?? pool.program.imageUri },
        }));
  }, draft);
  return applyProgramFlags(withMachines, flags);
}

function applyProgramFlags(draft: JobDraft, flags: Flags): JobDraft {
  const pythonModule = readWords(flags, 'module-name');
  const packageUris = readFlag(flags, 'packages', (text) => splitList(text))?.value.map((value) => ({
    value,
    path: '--packages',
  }));
  const args = flags.rest.length === 0 ? undefined : flags.rest.map((value) => ({ value, path: '-- ARGS' }));
  if ([pythonModule, packageUris, args].every((value) => value === undefined)) {
    return draft;
  }
  const fill = (program: ProgramDraft): ProgramDraft => ({
    ...program,
    packageUris: packageUris ?? program.packageUris,
    pythonModule: pythonModule ?? program.pythonModule,
  });
  const changed = withPool(draft, 'master', (pool) => {
    const program = fill(pool.program);
    return { ...pool, program: args === undefined ? program : withArgs(program, args, draft.dialect) };
  });
  // In Vertex AI's format each pool names its own packages: those of the flags are for all pools that run Python.
  const runsPython = ({ role, program }: PoolDraft) =>
    role !== 'master' && (program.pythonModule ?? program.executorImageUri) !== undefined;
  return draft.dialect !== 'vertex-ai' || packageUris === undefined
    ? changed
    : {
        ...changed,
        pools: changed.pools.map((pool) =>
          runsPython(pool)
            ? { ...pool, program: { ...fill(pool.program), pythonModule: pool.program.pythonModule ?? pythonModule } }
            : pool,
        ),
      };
}

/** In Dropforge's own format the machine type follows from the GPUs, also if a flag changes them. */
function machineTypeOf({ machineType, accelerator }: PoolDraft, given: AcceleratorDraft | undefined) {
  const isDerived = machineType !== undefined && machineType.path === accelerator.type?.path;
  return isDerived && given !== undefined ? machineTypeFor(given) : machineType;
}

/** Vertex AI has a list of arguments for each kind of program; the other dialects have one for both. */
export function withArgs(program: ProgramDraft, args: readonly Located<string>[], dialect: Dialect): ProgramDraft {
  const isContainer = dialect === 'vertex-ai' && program.imageUri !== undefined;
  return isContainer ? { ...program, containerArgs: args } : { ...program, args };
}

/** Changes a role's pool, which is added if the file has none; the master's pool is always present. */
export function withPool(draft: JobDraft, role: Role, change: (pool: PoolDraft) => PoolDraft): JobDraft {
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
