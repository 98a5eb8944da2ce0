import { isDeepStrictEqual } from 'node:util';
import type { Program } from '#shared/domain/job-spec.ts';
import type { Role } from '#shared/domain/replica-name.ts';
import { type JobDraft, masterOf, type PoolDraft, type ProgramDraft } from '#shared/job-file/draft/job-draft.ts';
import {
  type Findings,
  type Located,
  locationOf,
  locationOfList,
  reportInvalid,
} from '#shared/job-file/parser/findings.ts';
import { rejectMissing } from '#shared/job-file/parser/record-findings.ts';
import { checkContainer } from '#shared/job-file/validation/check-container.ts';
import { checkMountedPackages, checkPythonProgram } from '#shared/job-file/validation/check-python-program.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';

export type ProgramsCheck = {
  /** The program of the master. */
  readonly program: Program;
  /** A role's own program; null if it runs the master's. */
  readonly ofRole: Readonly<Record<Role, Program | null>>;
};

type CheckInput = { readonly draft: JobDraft; readonly context: JobContext };

/**
 * The program of each role; null if one is missing or invalid. On AI Platform all roles run the master's program unless
 * they have their own image or command (ReplicaConfig); on Vertex AI every pool has its own; in Dropforge's format, a
 * group may set parts of its own.
 */
export function checkPrograms(draft: JobDraft, context: JobContext, findings: Findings): ProgramsCheck | null {
  checkConflicts(draft, findings);
  const input = { draft, context };
  const program = checkProgram(masterOf(draft), input, findings);
  const others = draft.pools
    .slice(1)
    .filter((pool) => hasOwnProgram(pool, draft))
    .map((pool) => ({ role: pool.role, program: checkProgram(completed(pool, draft), input, findings) }));
  if (program === null || others.some((other) => other.program === null)) {
    return null;
  }
  const ownOf = (role: Role) => {
    const own = others.find((other) => other.role === role)?.program ?? null;
    return isDeepStrictEqual(own, program) ? null : own;
  };
  return { program, ofRole: { master: null, worker: ownOf('worker'), ps: ownOf('ps'), evaluator: ownOf('evaluator') } };
}

function checkProgram(pool: PoolDraft, { draft, context }: CheckInput, findings: Findings): Program | null {
  const { program } = pool;
  if (program.imageUri === undefined && (draft.dialect === 'dropforge' || !hasContainerFields(program))) {
    return hasProgramProblem(pool, findings)
      ? null
      : checkPythonProgram(pool, { dialect: draft.dialect, context }, findings);
  }
  const imageUri = imageOf(pool, draft);
  if (imageUri === undefined) {
    rejectMissingImage(pool, draft, findings);
    return null;
  }
  const { command = [], environment } = program;
  const container = checkContainer({ imageUri, command, args: argsOf(pool, draft), environment }, findings);
  const python = mountedOf(pool, draft);
  const mounted = python === null ? {} : checkMountedPackages(python, context, findings);
  return container && mounted && { ...container, ...mounted };
}

/**
 * The packages and module that run in an image; null for the image's own program. On AI Platform they are the job's, if
 * its master runs them in an image, and a command is run instead; Vertex AI has fields for either alone.
 */
function mountedOf({ program }: PoolDraft, draft: JobDraft): ProgramDraft | null {
  if (draft.dialect !== 'ai-platform') {
    return draft.dialect === 'dropforge' ? program : null;
  }
  const ofJob = masterOf(draft).program;
  const runsInImage = ofJob.imageUri !== undefined && ofJob.pythonModule !== undefined;
  const hasCommand = [ofJob, program].some(({ command = [] }) => command.length > 0);
  return runsInImage && !hasCommand ? ofJob : null;
}

/**
 * A group of Dropforge's format that sets image, command or module takes neither of the other two, nor the arguments,
 * from the job, except for the image in which its command or module runs. Packages are those of a module.
 */
function completed(pool: PoolDraft, draft: JobDraft): PoolDraft {
  if (draft.dialect !== 'dropforge') {
    return pool;
  }
  const { program: own } = pool;
  const { program: ofJob } = masterOf(draft);
  const isReplaced = [own.imageUri, own.command, own.pythonModule].some((field) => field !== undefined);
  const isImageAlone = own.imageUri !== undefined && own.pythonModule === undefined;
  const program = {
    ...own,
    imageUri: own.imageUri ?? ofJob.imageUri,
    command: isReplaced ? own.command : ofJob.command,
    pythonModule: isReplaced ? own.pythonModule : ofJob.pythonModule,
    args: own.args ?? (isReplaced ? undefined : ofJob.args),
    packageUris: own.packageUris ?? (isImageAlone ? undefined : ofJob.packageUris),
    environment: own.environment.length > 0 ? own.environment : ofJob.environment,
  };
  return { ...pool, program };
}

/** On AI Platform, roles without an image use the master's (TrainingInput.workerConfig). */
function imageOf({ program }: PoolDraft, draft: JobDraft): Located<string> | undefined {
  return program.imageUri ?? (draft.dialect === 'ai-platform' ? masterOf(draft).program.imageUri : undefined);
}

/**
 * On Vertex AI, containerArgs are the file's (containerSpec.args), and args, if any, come from a flag and override
 * them.
 */
function argsOf({ program }: PoolDraft, draft: JobDraft): readonly Located<string>[] {
  return draft.dialect !== 'ai-platform'
    ? (program.args ?? program.containerArgs ?? [])
    : (program.containerArgs ?? masterOf(draft).program.args ?? []);
}

function hasContainerFields({ command, containerArgs }: ProgramDraft): boolean {
  return (command ?? []).length > 0 || (containerArgs ?? []).length > 0;
}

function hasOwnProgram({ program, count, machineType }: PoolDraft, { dialect }: JobDraft): boolean {
  if (dialect === 'dropforge') {
    return (
      program.imageUri !== undefined ||
      hasContainerFields(program) ||
      hasPythonFields(program) ||
      program.args !== undefined
    );
  }
  if (dialect !== 'vertex-ai') {
    return program.imageUri !== undefined || hasContainerFields(program);
  }
  const isEmpty = !hasPythonFields(program) && !hasContainerFields(program) && program.imageUri === undefined;
  const isOmitted = isEmpty && count === undefined && machineType === undefined;
  return !isOmitted && count?.value !== 0;
}

function hasPythonFields({ packageUris, pythonModule, executorImageUri }: ProgramDraft): boolean {
  return packageUris !== undefined || pythonModule !== undefined || executorImageUri !== undefined;
}

/** Whether the parser has already reported that the pool has no program or two. */
function hasProgramProblem({ path }: PoolDraft, { problems }: Findings): boolean {
  return problems.some((problem) => problem.code === 'POOL_PROGRAM' && problem.path === path);
}

function rejectMissingImage({ path, program }: PoolDraft, { dialect }: JobDraft, findings: Findings): void {
  if (dialect === 'vertex-ai') {
    const missing = `${path}.containerSpec.imageUri`;
    rejectMissing(
      missing,
      'Write the container image, such as us-docker.pkg.dev/my-project/trainers/digits:1.',
      findings,
    );
    return;
  }
  const [first] = [...(program.command ?? []), ...(program.containerArgs ?? [])];
  const message = 'A container command is given without a container image.';
  const remedy = 'Write masterConfig.imageUri, or args instead of containerCommand and containerArgs.';
  findings.problems.push({ code: 'COMMAND_WITHOUT_IMAGE', message, remedy, ...(first && locationOfList(first)) });
}

/** Reports fields of the job that exclude each other. */
function checkConflicts(draft: JobDraft, findings: Findings): void {
  const pool = masterOf(draft);
  const { program } = pool;
  checkArgsTwice(draft, findings);
  if (draft.dialect === 'dropforge') {
    for (const { program: own } of draft.pools) {
      rejectModuleWithCommand(own, findings);
    }
  }
  if (program.imageUri === undefined) {
    return;
  }
  if (draft.runtimeVersion !== undefined) {
    const message = `${draft.runtimeVersion.path} cannot be combined with a container image, which has its own runtime.`;
    const remedy = 'Remove one of the two.';
    reportInvalid(draft.runtimeVersion, { code: 'IMAGE_AND_RUNTIME_VERSION', message, remedy }, findings);
  }
  const python = program.pythonModule ?? program.packageUris?.[0];
  if (python === undefined || mountedOf(pool, draft) !== null || hasProgramProblem(pool, findings)) {
    return;
  }
  if (draft.dialect === 'ai-platform') {
    const own = program.pythonModule === undefined ? "the image's own program" : 'containerCommand';
    const message = `${python.path} has no effect: the job runs ${own}.`;
    const remedy = `Remove it, or ${program.pythonModule === undefined ? 'write pythonModule' : 'the command'}.`;
    findings.warnings.push({ code: 'FIELD_WITHOUT_EFFECT', message, remedy, ...locationOf(python) });
    return;
  }
  const message = `${python.path} cannot be combined with a container image: a job runs one or the other.`;
  findings.problems.push({ code: 'TWO_PROGRAMS', message, remedy: 'Remove one of the two.', ...locationOf(python) });
}

/** A command runs instead of the module. */
function rejectModuleWithCommand({ pythonModule, command }: ProgramDraft, findings: Findings): void {
  const [first] = command ?? [];
  if (pythonModule !== undefined && first !== undefined) {
    const message = `${pythonModule.path} cannot be combined with ${locationOfList(first).path}: both say what runs.`;
    const remedy = 'Remove one of the two: packages alone can be combined with a command.';
    findings.problems.push({ code: 'TWO_PROGRAMS', message, remedy, ...locationOf(pythonModule) });
  }
}

/** TrainingInput.args and ReplicaConfig's containerCommand and containerArgs exclude each other. */
function checkArgsTwice(draft: JobDraft, findings: Findings): void {
  const container = draft.pools.find(({ program }) => hasContainerFields(program))?.program;
  const [first] = [...(container?.command ?? []), ...(container?.containerArgs ?? [])];
  const args = masterOf(draft).program.args ?? [];
  if (draft.dialect !== 'ai-platform' || first === undefined || args.length === 0) {
    return;
  }
  const location = locationOfList(first);
  const message = `${location.path} cannot be combined with ${args[0]?.path.startsWith('--') ? 'arguments' : 'trainingInput.args'}.`;
  const remedy = 'Move the arguments to masterConfig.containerArgs.';
  findings.problems.push({ code: 'ARGS_TWICE', message, remedy, ...location });
}
