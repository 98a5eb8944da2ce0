import { isDeepStrictEqual } from 'node:util';
import type { Program, Role } from '#shared/domain/job-spec.ts';
import { type JobDraft, masterOf, type PoolDraft, type ProgramDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { checkContainer } from '#shared/job-file/validation/check-container.ts';
import { checkPythonProgram } from '#shared/job-file/validation/check-python-program.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';

export type ProgramsCheck = {
  /** What the master runs. */
  readonly program: Program;
  /** What a role runs in its place; null where it runs the same. */
  readonly ofRole: Readonly<Record<Role, Program | null>>;
};

type Setting = { readonly draft: JobDraft; readonly context: JobContext };

/**
 * What each role is to run. On AI Platform all run the master's program, but for those with an image or a command of
 * their own (ReplicaConfig); on Vertex AI every pool says its own. Null where something is missing or wrong, which is
 * then among the findings.
 */
export function checkPrograms(draft: JobDraft, context: JobContext, findings: Findings): ProgramsCheck | null {
  checkTogether(draft, findings);
  const setting = { draft, context };
  const program = checkProgram(masterOf(draft), setting, findings);
  const others = draft.pools
    .slice(1)
    .filter((pool) => hasOwnProgram(pool, draft))
    .map((pool) => ({ role: pool.role, program: checkProgram(pool, setting, findings) }));
  if (program === null || others.some((other) => other.program === null)) {
    return null;
  }
  const ownOf = (role: Role) => {
    const own = others.find((other) => other.role === role)?.program ?? null;
    return isDeepStrictEqual(own, program) ? null : own;
  };
  return { program, ofRole: { master: null, worker: ownOf('worker'), ps: ownOf('ps'), evaluator: ownOf('evaluator') } };
}

function checkProgram(pool: PoolDraft, { draft, context }: Setting, findings: Findings): Program | null {
  const { program } = pool;
  if (program.imageUri === undefined && !saysContainer(program)) {
    return isToldOf(pool, findings) ? null : checkPythonProgram(pool, { dialect: draft.dialect, context }, findings);
  }
  const imageUri = imageOf(pool, draft);
  if (imageUri === undefined) {
    refuseWithoutImage(pool, draft, findings);
    return null;
  }
  return checkContainer(
    {
      imageUri,
      command: program.command ?? [],
      args: argsOf(pool, draft),
      environment: program.environment,
    },
    findings,
  );
}

/** AI Platform's other roles have the master's image, where they name none (TrainingInput.workerConfig). */
function imageOf({ program }: PoolDraft, draft: JobDraft): Located<string> | undefined {
  return program.imageUri ?? (draft.dialect === 'vertex-ai' ? undefined : masterOf(draft).program.imageUri);
}

/** Of Vertex AI's two lists the container's is in containerArgs; what is in the other then came from a flag. */
function argsOf({ program }: PoolDraft, draft: JobDraft): readonly Located<string>[] {
  return draft.dialect === 'vertex-ai'
    ? (program.args ?? program.containerArgs ?? [])
    : (program.containerArgs ?? masterOf(draft).program.args ?? []);
}

function saysContainer({ command, containerArgs }: ProgramDraft): boolean {
  return (command ?? []).length > 0 || (containerArgs ?? []).length > 0;
}

function hasOwnProgram({ program, count, machineType }: PoolDraft, { dialect }: JobDraft): boolean {
  if (dialect !== 'vertex-ai') {
    return program.imageUri !== undefined || saysContainer(program);
  }
  const isSilent = !saysPython(program) && !saysContainer(program) && program.imageUri === undefined;
  const isLeftOut = isSilent && count === undefined && machineType === undefined;
  return !isLeftOut && count?.value !== 0;
}

function saysPython({ packageUris, pythonModule, executorImageUri }: ProgramDraft): boolean {
  return packageUris !== undefined || pythonModule !== undefined || executorImageUri !== undefined;
}

/** Whether the pool's reader has said already that it has no program, or two. */
function isToldOf({ path }: PoolDraft, { problems }: Findings): boolean {
  return problems.some((problem) => problem.code === 'POOL_PROGRAM' && problem.path === path);
}

function refuseWithoutImage({ path, program }: PoolDraft, { dialect }: JobDraft, findings: Findings): void {
  if (dialect === 'vertex-ai') {
    const missing = `${path}.containerSpec.imageUri`;
    const remedy = 'Name the container image, such as us-docker.pkg.dev/my-project/trainers/digits:1.';
    findings.problems.push({ code: 'MISSING_FIELD', message: `${missing} is missing.`, remedy, path: missing });
    return;
  }
  const [first] = [...(program.command ?? []), ...(program.containerArgs ?? [])];
  const message = 'A command for a container is given, but no container image.';
  const remedy =
    dialect === 'dropforge'
      ? 'Name an image, or write module in place of command.'
      : 'Write masterConfig.imageUri, or args in place of containerCommand and containerArgs.';
  findings.problems.push({ code: 'COMMAND_WITHOUT_IMAGE', message, remedy, ...(first && listOf(first)) });
}

/** What excludes one another, in the whole of the job. */
function checkTogether(draft: JobDraft, findings: Findings): void {
  const { program, ...pool } = masterOf(draft);
  checkArgsTwice(draft, findings);
  if (program.imageUri === undefined) {
    return;
  }
  if (draft.runtimeVersion !== undefined) {
    const message = `${draft.runtimeVersion.path} is said beside a container image, which is its own runtime.`;
    const remedy = 'Remove one of the two.';
    reportInvalid(draft.runtimeVersion, { code: 'IMAGE_AND_RUNTIME_VERSION', message, remedy }, findings);
  }
  const python = program.pythonModule ?? program.packageUris?.[0];
  if (python === undefined || isToldOf({ ...pool, program }, findings)) {
    return;
  }
  if (draft.dialect === 'ai-platform') {
    const message = `${python.path} has no effect: the container image decides what runs.`;
    const remedy = 'Remove it, or the image.';
    findings.warnings.push({ code: 'FIELD_WITHOUT_EFFECT', message, remedy, ...locationOf(python) });
    return;
  }
  const message = `${python.path} is said beside a container image: a job runs one or the other.`;
  findings.problems.push({ code: 'TWO_PROGRAMS', message, remedy: 'Remove one of the two.', ...locationOf(python) });
}

/** TrainingInput.args on the one side, ReplicaConfig.containerCommand and containerArgs on the other. */
function checkArgsTwice(draft: JobDraft, findings: Findings): void {
  const commanded = draft.pools.find(({ program }) => saysContainer(program))?.program;
  const [first] = [...(commanded?.command ?? []), ...(commanded?.containerArgs ?? [])];
  const args = masterOf(draft).program.args ?? [];
  if (draft.dialect !== 'ai-platform' || first === undefined || args.length === 0) {
    return;
  }
  const place = listOf(first);
  const message = `${place.path} is said beside ${args[0]?.path.startsWith('--') ? 'arguments' : 'trainingInput.args'}; one excludes the other.`;
  const remedy = 'Move the arguments to masterConfig.containerArgs.';
  findings.problems.push({ code: 'ARGS_TWICE', message, remedy, ...place });
}

/** The list that an item is in. */
function listOf({ path, line }: Located<string>) {
  return locationOf({ path: path.replace(/\[\d+\]$/, ''), ...(line !== undefined && { line }) });
}
