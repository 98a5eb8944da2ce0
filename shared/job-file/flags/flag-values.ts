import type { AcceleratorOverride } from '#shared/job-file/draft/apply-overrides.ts';
import { type Flags, InvalidFlagError } from '#shared/job-file/flags/flag-list.ts';

/** gcloud's choices, in its spelling: lowercase with dashes. */
const SCALE_TIERS: readonly string[] = ['basic', 'standard-1', 'premium-1', 'basic-gpu', 'basic-tpu', 'custom'];

const ALGORITHMS: readonly string[] = ['algorithm-unspecified', 'grid-search', 'random-search'];

/** `^;^a;b`: a custom delimiter (gcloud, "gcloud topic escaping"). */
const CUSTOM_DELIMITER = /^\^([^^]+)\^(.*)$/s;

type Flag = Flags['flag'];

/** Splits `a,b` or `^;^a;b`; empty for an empty text. */
export function splitList(text: string, delimiterDefault = ','): readonly string[] {
  const [, delimiter = delimiterDefault, list = text] = CUSTOM_DELIMITER.exec(text) ?? [];
  return list === '' ? [] : list.split(delimiter);
}

/** The list as one text, which `splitList` reads; with a delimiter of its own if an item has a comma. */
export function joinList(items: readonly string[]): string {
  const isPlain = !items.some((item) => item.includes(',') || item.startsWith('^'));
  let delimiter = isPlain ? ',' : '|';
  while (items.some((item) => item.includes(delimiter))) {
    delimiter += '|';
  }
  return isPlain ? items.join(delimiter) : `^${delimiter}^${items.join(delimiter)}`;
}

/** Parses `KEY=VALUE,KEY=VALUE`. */
export function readPairs(flagName: string, text: string): Readonly<Record<string, string>> {
  const pairs = splitList(text).map((pair) => {
    const [key = '', ...value] = pair.split('=');
    if (key.trim() === '' || value.length === 0) {
      throw new InvalidFlagError(`--${flagName} ${text}: '${pair}' is not KEY=VALUE.`);
    }
    return [key.trim(), value.join('=').trim()] as const;
  });
  return Object.fromEntries(pairs);
}

/** Returns the pairs of all occurrences of a flag; undefined if the flag is not set. */
export function readAllPairs(flagName: string, flags: Flags['flags']): Readonly<Record<string, string>> | undefined {
  const given = flags(flagName);
  return given.length === 0
    ? undefined
    : Object.assign({}, ...given.filter((text) => text !== '').map((text) => readPairs(flagName, text)));
}

/** Parses `type=nvidia-tesla-t4,count=1`, in any order; the count defaults to 1. */
export function readAccelerator(flagName: string, flag: Flag): AcceleratorOverride | undefined {
  const text = flag(flagName);
  if (text === undefined) {
    return undefined;
  }
  const { type = '', count = '1', ...others } = readPairs(flagName, text);
  if (type === '' || Object.keys(others).length > 0 || !/^[1-9]\d{0,2}$/.test(count)) {
    throw new InvalidFlagError(`--${flagName} ${text}: use type=TYPE,count=N with N greater than 0.`);
  }
  return { type, count: Number(count) };
}

export function readCount(flagName: string, flag: Flag): number | undefined {
  const text = flag(flagName);
  if (text !== undefined && !/^\d{1,6}$/.test(text)) {
    throw new InvalidFlagError(`--${flagName} ${text}: use a whole number, such as 2.`);
  }
  return text === undefined ? undefined : Number(text);
}

/** Parses `--max-cost`: US dollars, above 0. */
export function readMaxCost(flag: Flag): number | undefined {
  const text = flag('max-cost');
  const usd = Number(text?.replace(/^\$/, ''));
  if (text !== undefined && !(/\d/.test(text) && usd > 0 && Number.isFinite(usd))) {
    throw new InvalidFlagError(`--max-cost ${text}: use an amount of US dollars above 0, such as 20.`);
  }
  return text === undefined ? undefined : usd;
}

/** Accepts `standard-1` and `STANDARD_1`; returns the API's spelling. */
export function readScaleTier(flag: Flag): string | undefined {
  const text = flag('scale-tier');
  const tier = text?.toLowerCase().replaceAll('_', '-');
  if (tier !== undefined && !SCALE_TIERS.includes(tier)) {
    throw new InvalidFlagError(`--scale-tier ${text}: the choices are ${SCALE_TIERS.join(', ')}.`);
  }
  return tier?.toUpperCase().replaceAll('-', '_');
}

/** Accepts gcloud's spelling, `random-search`; returns the API's, `RANDOM_SEARCH`. */
export function readAlgorithm(text: string | undefined): string | undefined {
  if (text !== undefined && !ALGORITHMS.includes(text.toLowerCase().replaceAll('_', '-'))) {
    throw new InvalidFlagError(`--algorithm ${text}: the choices are ${ALGORITHMS.join(', ')}.`);
  }
  return text?.toUpperCase().replaceAll('-', '_');
}

/** Returns the key's full resource name, which gcloud also accepts in separate flags. */
export function readKmsKey(flag: Flag): string | undefined {
  const key = flag('kms-key');
  const [keyring, location] = [flag('kms-keyring'), flag('kms-location')];
  if (key === undefined || key.includes('/')) {
    const part = ['kms-keyring', 'kms-location', 'kms-project'].find((name) => flag(name) !== undefined);
    if (key === undefined && part !== undefined) {
      throw new InvalidFlagError(`--${part} requires --kms-key.`);
    }
    return key;
  }
  const project = flag('kms-project') ?? flag('project');
  if (keyring === undefined || location === undefined || project === undefined) {
    throw new InvalidFlagError(
      `--kms-key ${key} also requires --kms-keyring, --kms-location and --kms-project; or use the full name ` +
        'projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY.',
    );
  }
  return `projects/${project}/locations/${location}/keyRings/${keyring}/cryptoKeys/${key}`;
}
