import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import type { JobField } from '#shared/job-file/fields/field.ts';
import { readFields } from '#shared/job-file/fields/table.ts';
import { JOB_FIELDS } from '#shared/job-file/formats/dropforge/fields.ts';
import schema from '#shared/job-file/formats/dropforge/job.schema.json' with { type: 'json' };
import { EMPTY_JOB } from '#shared/job-file/formats/dropforge/read.ts';
import { createFindings } from '#shared/job-file/parser/findings.ts';
import { parseSource } from '#shared/job-file/parser/parse-source.ts';
import type { FoundNode } from '#shared/job-file/parser/read-values.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';
import { METADATA_KEYS } from '#shared/protocol/vm-config.ts';
import { vmRequestOf } from '#shared/use-cases/provision/vm-request.ts';
import { simulatedSettings } from '../../simulation/simulated-job.ts';
import { jobAfter, queuedJob } from '../domain/example-job.ts';
import { printYaml, valuesOf } from './read-own-job.ts';

/** Defaults that differ from every example. */
const CONTEXT: JobContext = {
  defaults: { region: 'us-east1', runtimeVersion: '2.8', jobDirBase: 'gs://jobs/all/' },
  packageBase: 'gs://uploads/folder',
  uploadBucket: 'uploads',
};

type Job = Readonly<Record<string, unknown>>;

const BASE: Job = { name: 'base_job', module: 'base.task', packages: ['gs://base/base.tar.gz'] };

/** Valid jobs to which a field can be added that the plain job cannot have. */
const BASES: Readonly<Record<string, Job>> = {
  image: { name: 'base_job', image: 'us-docker.pkg.dev/base/base/base:1' },
  command: { name: 'base_job', command: ['base'], packages: ['gs://base/base.tar.gz'] },
  flexStart: { ...BASE, gpu: 'L4' },
};

/** A value of the right kind that validation rejects, for fields whose kind has no limits. */
const INVALID: Readonly<Record<string, unknown>> = {
  name: 'first-run',
  module: 'not a module',
  image: 'Not An Image',
  command: ['a'.repeat(1_000_000)],
  args: ['a'.repeat(1_000_000)],
  packages: ['gs://base/base.exe'],
  env: { 'NOT-A-NAME': 'a' },
  secrets: { HF_TOKEN: 'not a secret' },
  environmentCache: 'often',
  metricsFromOutput: 'often',
  outputs: ['../model'],
  resumeArguments: 'a b',
  workdir: '../src',
  workdirOutputs: 'often',
  runtime: 'not a version',
  python: 'python',
  gpu: 'T44',
  machine: 'n1-standard-3',
  disk: -1,
  reservation: 'not a reservation',
  workers: -1,
  parameterServers: -1,
  evaluators: -1,
  spot: 'often',
  flexStart: 'often',
  region: 'us-central9',
  notify: { states: ['DONE'] },
  health: { stalledAfter: '9s' },
  maxRuntime: '120d',
  maxWait: '366d',
  keepOnFailure: '25h',
  output: '/tmp/run',
  labels: { 'dropforge-job': 'a' },
  serviceAccount: 'not an account',
  network: 'not a network',
  subnetwork: 'not a subnetwork',
  networkAttachment: 'Not an attachment',
  kmsKey: 'not a key',
  tune: { metric: 'a', trials: -1, parameters: { a: [1] } },
};

const validate = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true }).compile(schema);
const page = readFileSync(new URL('../../../docs/job-file.md', import.meta.url), 'utf8');

/**
 * The gaps of a field of Dropforge's own format, each as a sentence: it is read, validated, documented, in the
 * JSON Schema, and reaches JobSpec and, unless its row says otherwise, the request for a VM.
 */
export function findFieldGaps(name: string, row: JobField): readonly string[] {
  const table = { ...JOB_FIELDS, [name]: row };
  const base = BASES[name] ?? BASE;
  const example = row.examples?.find((value) => !isDeepStrictEqual(value, base[name]));
  if (example === undefined) {
    return [`${name} has no example.`];
  }
  const [before, after] = [read(base, table), read({ ...base, [name]: example }, table)];
  const gaps = {
    'is not read': isDeepStrictEqual(valuesOf(before), valuesOf(after)),
    'has no invalid value in the test': invalidValue(name, row) === undefined,
    'is not validated': !isRejected(name, read({ ...base, [name]: invalidValue(name, row) }, table)),
    'has no description': row.description.length < 10 || row.omitted === '',
    'is not in docs/job-file.md': !page.includes(`\n| \`${name}\` | ${row.type} | ${row.description}`),
    'is not in job.schema.json': !Object.hasOwn(schema.properties, name) || !validate({ ...base, [name]: example }),
    ...findUnsent(row, specOf(before), specOf(after)),
  };
  return Object.entries(gaps).flatMap(([gap, isPresent]) => (isPresent ? [`${name} ${gap}.`] : []));
}

function findUnsent({ goesTo }: JobField, before: JobSpec | null, after: JobSpec | null): Record<string, boolean> {
  if (before === null || after === null) {
    return { 'has an example that is not valid': true };
  }
  return {
    [`does not reach ${goesTo.spec} of JobSpec`]: isSameAt(goesTo.spec, before, after),
    [`does not reach ${goesTo.vm} of the request for a VM`]:
      goesTo.vm !== null && isSameAt(goesTo.vm, requestFor(before), requestFor(after)),
  };
}

function read(job: Job, table: Readonly<Record<string, JobField>>): JobDraft {
  const { root } = parseSource(printYaml(job), 'job.yaml');
  const entries = root?.kind === 'MAPPING' ? root.entries : [];
  const found = entries.map(({ key, value }): [string, FoundNode] => [key, { path: key, node: value }]);
  const findings = createFindings();
  return { ...readFields(Object.fromEntries(found), { table, target: EMPTY_JOB }, findings), ...findings };
}

/** The limits of the field's kind give a value outside of them. */
function invalidValue(name: string, { schema: { maximum } }: JobField): unknown {
  return INVALID[name] ?? (typeof maximum === 'number' ? maximum + 1 : undefined);
}

function isRejected(name: string, draft: JobDraft): boolean {
  return checkJob(draft, CONTEXT).problems.some(({ path = '' }) => path.split(/[.[]/)[0] === name);
}

function specOf(draft: JobDraft): JobSpec | null {
  return checkJob(draft, CONTEXT).spec;
}

/** The request for the VM of the master, with the configuration as `config`; a container runs as a module would. */
function requestFor(spec: JobSpec): unknown {
  const uris = spec.program.kind === 'PYTHON' ? spec.program.packageUris : [];
  const packages = uris.map((uri) => ({ uri, generation: '1', crc32c: 'AAAAAA==', sizeBytes: 1 }));
  const job = jobAfter({ ...queuedJob(), jobId: spec.jobId, spec, packages }, ['PLACEMENT_CHOSEN', 0]);
  if (job.status !== 'PREPARING') {
    throw new Error(`The job is ${job.status}.`);
  }
  const placement = { ...job.placement, provisioningModel: spec.provisioningModel };
  const replica = { role: 'master', index: 0 } as const;
  const request = vmRequestOf({ ...job, placement }, replica, { settings: simulatedSettings, timeouts: TIMEOUTS });
  return { ...request, config: JSON.parse(request.metadata[METADATA_KEYS.config] ?? '') };
}

function isSameAt(path: string, before: unknown, after: unknown): boolean {
  return isDeepStrictEqual(valueAt(path, before), valueAt(path, after));
}

function valueAt(path: string, value: unknown): unknown {
  return path.split('.').reduce((part, key) => Object(part)[key], value);
}
