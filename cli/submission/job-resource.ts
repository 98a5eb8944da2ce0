import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import type { Invocation } from '#cli/command.ts';
import { describeError, Failure, UsageFailure } from '#cli/failure.ts';
import { FIELD_FLAGS } from '#cli/submission/submit-flags.ts';
import { isJobField } from '#shared/spec/read-ai-platform.ts';

/** A Job resource of AI Platform Training, as far as the CLI writes it; the cloud checks it. */
export type JobResource = {
  readonly jobId: string;
  readonly labels?: unknown;
  readonly trainingInput: Readonly<Record<string, unknown>>;
};

type Source = Pick<Invocation, 'flag' | 'rest' | 'io'>;

type Mapping = Readonly<Record<string, unknown>>;
type JobFile = Mapping & { readonly trainingInput: Mapping };

const CONFIG_BYTES_MAX = 2 ** 20;

const NOTHING: JobFile = { trainingInput: {} };

/** Merges as gcloud does: first the file, then the flags; the job id and the words after `--` beat both. */
export async function buildJobResource(
  { flag, rest, io }: Source,
  { jobId, packageUris }: { readonly jobId: string; readonly packageUris: readonly string[] },
): Promise<JobResource> {
  const config = flag('config');
  const { trainingInput, ...file } = config === undefined ? NOTHING : await readConfig(resolve(io.cwd, config));
  const scaleTier = flag('scale-tier')?.toUpperCase().replace('-', '_');
  const labels = flag('labels');
  const accelerator = flag('master-accelerator');
  return {
    ...file,
    jobId,
    ...(labels !== undefined && { labels: readPairs('labels', labels) }),
    trainingInput: {
      ...trainingInput,
      ...(scaleTier !== undefined && { scaleTier }),
      ...readFieldFlags(flag),
      ...(accelerator !== undefined && {
        masterConfig: {
          ...asMapping(trainingInput.masterConfig ?? {}, 'masterConfig'),
          acceleratorConfig: readAccelerator(accelerator),
        },
      }),
      ...(packageUris.length > 0 && { packageUris }),
      ...(rest.length > 0 && { args: rest }),
    },
  };
}

function readFieldFlags(flag: Source['flag']): Readonly<Record<string, string>> {
  const fields = FIELD_FLAGS.map(({ name, field }) => [field, flag(name)] as const);
  return Object.fromEntries(fields.flatMap(([field, value]) => (value === undefined ? [] : [[field, value]])));
}

async function readConfig(path: string): Promise<JobFile> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new Failure(`The job file ${path} cannot be read (${describeError(error)}): check --config.`);
  }
  if (text.length > CONFIG_BYTES_MAX) {
    throw new Failure(`The job file ${path} is larger than ${CONFIG_BYTES_MAX} bytes: check --config.`);
  }
  try {
    return toJobFile(withPlainNames(asMapping(parse(text) ?? {}, path)), path);
  } catch (error) {
    throw error instanceof Failure ? error : new Failure(`The job file ${path} is no YAML: ${describeError(error)}`);
  }
}

/** Some files leave `trainingInput` out and write its fields at the top; gcloud would drop them without a word. */
function toJobFile(file: Mapping, path: string): JobFile {
  const entries = Object.entries(file);
  if (!entries.some(([name]) => name === 'trainingInput')) {
    const isOfJob = ([name]: readonly [string, unknown]) => isJobField(name);
    return {
      ...Object.fromEntries(entries.filter(isOfJob)),
      trainingInput: Object.fromEntries(entries.filter((entry) => !isOfJob(entry))),
    };
  }
  return { ...file, trainingInput: withPlainNames(asMapping(file.trainingInput ?? {}, `trainingInput of ${path}`)) };
}

/** `scale_tier` is `scaleTier`, as in gcloud: a flag must beat it in either spelling. */
function withPlainNames(mapping: Mapping): Mapping {
  const toPlain = (name: string) => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(mapping).map(([name, value]) => [toPlain(name), value]));
}

function asMapping(value: unknown, what: string): Mapping {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Failure(`${what} is not a mapping of fields: write \`field: value\` lines.`);
  }
  return Object.fromEntries(Object.entries(value));
}

/** `KEY=VALUE,KEY=VALUE`. */
export function readPairs(name: string, text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').map((pair) => {
    const [key = '', ...value] = pair.split('=');
    if (key === '' || value.length === 0) {
      throw new UsageFailure(`--${name} ${text}: '${pair}' is not KEY=VALUE.`);
    }
    return [key.trim(), value.join('=').trim()] as const;
  });
  return Object.fromEntries(pairs);
}

/** `type=nvidia-tesla-t4,count=1` into AI Platform's enum and its int64, which JSON writes as a string. */
export function readAccelerator(text: string): { readonly type: string; readonly count: string } {
  const { type, count = '1', ...unknown } = readPairs('master-accelerator', text);
  const [stranger] = Object.keys(unknown);
  if (type === undefined || stranger !== undefined || !/^[1-9]\d{0,2}$/.test(count)) {
    throw new UsageFailure(`--master-accelerator ${text}: write type=TYPE,count=N with N greater than 0.`);
  }
  return { type: type.toUpperCase().replaceAll('-', '_'), count };
}
