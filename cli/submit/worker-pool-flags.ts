import { resolve } from 'node:path';
import { UsageFailure } from '#cli/core/failure.ts';
import { readPairs, splitList } from '#cli/submit/flag-values.ts';
import { archiveOf, type PackageSource } from '#cli/submit/package-source.ts';
import { ROLES } from '#shared/domain/job-spec.ts';
import { EMPTY_PROGRAM, emptyPool, type PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import type { Located } from '#shared/job-file/parser/findings.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

/** A pool as specified by one `--worker-pool-spec`, except for the URIs of its packages. */
export type PoolRequest = {
  readonly pool: PoolDraft;
  /** Packages to build or upload, and objects. */
  readonly packages: readonly PackageSource[];
};

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
type PoolFlag = { readonly keys: Readonly<Record<string, string>>; readonly path: string; readonly cwd: string };

/** Reads the pools in Vertex AI's order: primary, workers, parameter servers, evaluators. Empty pools are allowed. */
export function readWorkerPools(texts: readonly string[], cwd: string): readonly PoolRequest[] {
  if (texts.length > ROLES.length) {
    throw new UsageFailure(
      `Too many --worker-pool-spec (${texts.length}): a job has at most ${ROLES.length} pools, for the primary, the ` +
        'workers, the parameter servers and the evaluators.',
    );
  }
  const requests = ROLES.slice(0, texts.length).map((role, index): PoolRequest => {
    const given = {
      keys: readPairs('worker-pool-spec', texts[index] ?? ''),
      path: `--worker-pool-spec[${index}]`,
      cwd,
    };
    rejectInvalidKeys(given);
    const empty = emptyPool(role, `workerPoolSpecs[${index}]`);
    return Object.keys(given.keys).length === 0
      ? { pool: empty, packages: [] }
      : { pool: readPool(given, empty), packages: readPackages(given) };
  });
  return withSharedPackages(requests.map((request) => inheritFirstProgram(request, requests[0])));
}

function rejectInvalidKeys({ keys, path }: PoolFlag): void {
  for (const name of Object.keys(keys)) {
    const reason = Object.hasOwn(POOL_KEYS, name) ? POOL_KEYS[name] : undefined;
    if (reason === undefined) {
      const known = Object.keys(POOL_KEYS);
      throw new UsageFailure(
        `${path}: unknown key ${name}. ${didYouMean(name, known)}Valid keys: ${known.join(', ')}.`,
      );
    }
    if (reason !== null) {
      throw new UsageFailure(`${path}: ${name} is not supported: ${reason}.`);
    }
  }
  const python = PYTHON_KEYS.find((name) => keys[name] !== undefined);
  if (keys['container-image-uri'] !== undefined && python !== undefined) {
    throw new UsageFailure(`${path}: container-image-uri and ${python} are mutually exclusive: use one of them.`);
  }
  if (keys['python-module'] !== undefined && keys.script !== undefined) {
    throw new UsageFailure(`${path}: python-module and script are mutually exclusive: use one of them.`);
  }
  rejectOtherScript(keys.script, path);
  const local = ['script', 'requirements', 'extra-packages'].find((name) => keys[name] !== undefined);
  if (keys['local-package-path'] === undefined && local !== undefined) {
    throw new UsageFailure(
      `${path}: ${local} requires local-package-path; for uploaded packages, use --python-package-uris.`,
    );
  }
  if (keys['local-package-path'] !== undefined && (keys['python-module'] ?? keys.script) === undefined) {
    throw new UsageFailure(
      `${path}: local-package-path requires python-module or script, such as python-module=trainer.task.`,
    );
  }
}

/** gcloud also accepts shell scripts. */
function rejectOtherScript(script: string | undefined, path: string): void {
  if (script !== undefined && !script.endsWith('.py')) {
    throw new UsageFailure(`${path}: script=${script} is not supported: only Python scripts run, such as train.py.`);
  }
}

/** As in gcloud, the replica count and the accelerator count default to 1. */
function readPool(given: PoolFlag, empty: PoolDraft): PoolDraft {
  const type = textOf(given, 'accelerator-type');
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
    },
  };
}

function readPackages({ keys, path: flag, cwd }: PoolFlag): readonly PackageSource[] {
  const path = keys['local-package-path'];
  if (path === undefined) {
    return [];
  }
  const listOf = (name: string) => splitList(keys[name] ?? '', ';').filter((item) => item !== '');
  const requirements = listOf('requirements').map((item) => item.trim());
  return [
    { kind: 'WORKING_DIRECTORY', path: resolve(cwd, path), requirements },
    ...listOf('extra-packages').map((extra) => archiveOf(extra, { cwd, flag: `${flag}: extra-packages` })),
  ];
}

/** Pools that name the same package share it, so that it is built and uploaded once. */
function withSharedPackages(requests: readonly PoolRequest[]): readonly PoolRequest[] {
  const shared = new Map<string, PackageSource>();
  const share = (source: PackageSource): PackageSource => {
    const key = JSON.stringify({ ...source, flag: null });
    const first = shared.get(key) ?? source;
    shared.set(key, first);
    return first;
  };
  return requests.map(({ pool, packages }) => ({ pool, packages: packages.map(share) }));
}

/** If the first pool's program is built locally, pools without a program run it, too, like the image gcloud builds. */
function inheritFirstProgram(request: PoolRequest, first: PoolRequest | undefined): PoolRequest {
  const { machineType, program } = request.pool;
  const isOpen = program.imageUri === undefined && program.pythonModule === undefined && machineType !== undefined;
  if (!isOpen || first === undefined || first.packages.length === 0) {
    return request;
  }
  return { pool: { ...request.pool, program: first.pool.program }, packages: first.packages };
}

function textOf({ keys, path }: PoolFlag, name: string): Located<string> | undefined {
  const value = keys[name];
  return value === undefined ? undefined : { value, path: `${path}.${name}` };
}

function countOf(given: PoolFlag, name: string): Located<number> | undefined {
  const text = textOf(given, name);
  if (text !== undefined && !/^\d{1,6}$/.test(text.value)) {
    throw new UsageFailure(`${given.path}: ${name}=${text.value} is not a whole number.`);
  }
  return text && { ...text, value: Number(text.value) };
}
