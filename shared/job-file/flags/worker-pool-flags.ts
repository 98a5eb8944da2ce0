import { ROLES } from '#shared/domain/replica-name.ts';
import { EMPTY_PROGRAM, emptyPool, type PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import { InvalidFlagError } from '#shared/job-file/flags/flag-list.ts';
import { readPairs, splitList } from '#shared/job-file/flags/flag-values.ts';
import type { Located } from '#shared/job-file/parser/findings.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

/** The keys of `--worker-pool-spec` (gcloud, "ai custom-jobs create"). Keys with a reason are rejected. */
export const POOL_KEYS: Readonly<Record<string, string | null>> = {
  'replica-count': null,
  'machine-type': null,
  'accelerator-type': null,
  'accelerator-count': null,
  'container-image-uri': null,
  'executor-image-uri': null,
  'python-module': null,
  'local-package-path': null,
  requirements: null,
  'extra-packages': null,
  script: null,
  'extra-dirs': 'local-package-path is included as a whole; use a folder that contains them',
  'output-image-uri': 'no container image is built; the package is installed on the machine image',
};

const PYTHON_KEYS = [
  'executor-image-uri',
  'python-module',
  'script',
  'local-package-path',
  'requirements',
  'extra-packages',
];

/** The keys of one pool, and the flag's name in messages: `--worker-pool-spec[0]`. */
type PoolFlag = { readonly keys: Readonly<Record<string, string>>; readonly path: string };

/** Reads the pools in Vertex AI's order: primary, workers, parameter servers, evaluators. Empty pools are allowed. */
export function readWorkerPools(texts: readonly string[]): readonly PoolDraft[] {
  if (texts.length > ROLES.length) {
    throw new InvalidFlagError(
      `Too many --worker-pool-spec (${texts.length}): a job has at most ${ROLES.length} pools, for the primary, the ` +
        'workers, the parameter servers and the evaluators.',
    );
  }
  const pools = ROLES.slice(0, texts.length).map((role, index) => {
    const path = `--worker-pool-spec[${index}]`;
    const given = { keys: readPairs('worker-pool-spec', texts[index] ?? ''), path };
    rejectInvalidKeys(given);
    const empty = emptyPool(role, `workerPoolSpecs[${index}]`);
    return Object.keys(given.keys).length === 0 ? empty : readPool(given, empty);
  });
  return pools.map((pool) => inheritFirstProgram(pool, pools[0]));
}

/** The packages of one pool: those that are built from its working directory, and further ones. */
function listPoolPackages(keys: PoolFlag['keys']): readonly string[] {
  const local = keys['local-package-path'];
  return local === undefined ? [] : [local, ...splitItems(keys['extra-packages'])];
}

/** The items of a key that is a list. */
export function splitItems(text = ''): readonly string[] {
  return splitList(text, ';').filter((item) => item !== '');
}

function rejectInvalidKeys({ keys, path }: PoolFlag): void {
  for (const name of Object.keys(keys)) {
    const reason = Object.hasOwn(POOL_KEYS, name) ? POOL_KEYS[name] : undefined;
    if (reason === undefined) {
      const known = Object.keys(POOL_KEYS);
      throw new InvalidFlagError(
        `${path}: unknown key ${name}. ${didYouMean(name, known)}Valid keys: ${known.join(', ')}.`,
      );
    }
    if (reason !== null) {
      throw new InvalidFlagError(`${path}: ${name} is not supported: ${reason}.`);
    }
  }
  const python = PYTHON_KEYS.find((name) => keys[name] !== undefined);
  if (keys['container-image-uri'] !== undefined && python !== undefined) {
    throw new InvalidFlagError(`${path}: container-image-uri and ${python} are mutually exclusive: use one of them.`);
  }
  if (keys['python-module'] !== undefined && keys.script !== undefined) {
    throw new InvalidFlagError(`${path}: python-module and script are mutually exclusive: use one of them.`);
  }
  rejectOtherScript(keys.script, path);
  const local = ['script', 'requirements', 'extra-packages'].find((name) => keys[name] !== undefined);
  if (keys['local-package-path'] === undefined && local !== undefined) {
    throw new InvalidFlagError(
      `${path}: ${local} requires local-package-path; for uploaded packages, use --python-package-uris.`,
    );
  }
  if (keys['local-package-path'] !== undefined && (keys['python-module'] ?? keys.script) === undefined) {
    throw new InvalidFlagError(
      `${path}: local-package-path requires python-module or script, such as python-module=trainer.task.`,
    );
  }
}

/** gcloud also accepts shell scripts. */
function rejectOtherScript(script: string | undefined, path: string): void {
  if (script !== undefined && !script.endsWith('.py')) {
    throw new InvalidFlagError(
      `${path}: script=${script} is not supported: only Python scripts run, such as train.py.`,
    );
  }
}

/** Reads one pool. As in gcloud, the replica count and the accelerator count default to 1. */
function readPool(given: PoolFlag, empty: PoolDraft): PoolDraft {
  const type = textOf(given, 'accelerator-type');
  const packages = listPoolPackages(given.keys);
  return {
    ...empty,
    count: countOf(given, 'replica-count') ?? { value: 1, path: given.path },
    machineType: textOf(given, 'machine-type'),
    accelerator: {
      type: type && { ...type, value: type.value.toUpperCase().replaceAll('-', '_') },
      count: countOf(given, 'accelerator-count') ?? (type && { ...type, value: 1 }),
    },
    program: {
      ...EMPTY_PROGRAM,
      imageUri: textOf(given, 'container-image-uri'),
      executorImageUri: textOf(given, 'executor-image-uri'),
      pythonModule: textOf(given, 'python-module') ?? textOf(given, 'script'),
      packageUris: packages.length === 0 ? undefined : packages.map((value) => ({ value, path: empty.path })),
    },
  };
}

/** If the first pool's program is built locally, pools without a program run it, too, like the image gcloud builds. */
function inheritFirstProgram(pool: PoolDraft, first: PoolDraft | undefined): PoolDraft {
  const { machineType, program } = pool;
  const isOpen = program.imageUri === undefined && program.pythonModule === undefined && machineType !== undefined;
  return isOpen && first?.program.packageUris !== undefined ? { ...pool, program: first.program } : pool;
}

function textOf({ keys, path }: PoolFlag, name: string): Located<string> | undefined {
  const value = keys[name];
  return value === undefined ? undefined : { value, path: `${path}.${name}` };
}

function countOf(given: PoolFlag, name: string): Located<number> | undefined {
  const text = textOf(given, name);
  if (text !== undefined && !/^\d{1,6}$/.test(text.value)) {
    throw new InvalidFlagError(`${given.path}: ${name}=${text.value} is not a whole number.`);
  }
  return text && { ...text, value: Number(text.value) };
}
