import type { AcceleratorDraft, KeyedText } from '#shared/job-file/draft/job-draft.ts';
import { type Flags, InvalidFlagError } from '#shared/job-file/flags/flag-list.ts';
import type { Located } from '#shared/job-file/parser/findings.ts';

/** gcloud's choices, in its spelling: lowercase with dashes. */
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  'scale-tier': ['basic', 'standard-1', 'premium-1', 'basic-gpu', 'basic-tpu', 'custom'],
  algorithm: ['algorithm-unspecified', 'grid-search', 'random-search'],
};

/** `^;^a;b`: a custom delimiter (gcloud, "gcloud topic escaping"). */
const CUSTOM_DELIMITER = /^\^([^^]+)\^(.*)$/s;

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
      throw new InvalidFlagError(`--${flagName} ${text}: '${pair}' is not KEY=VALUE (--help shows the form).`);
    }
    return [key.trim(), value.join('=').trim()] as const;
  });
  return Object.fromEntries(pairs);
}

/** The pairs of all occurrences of a flag; undefined if the flag is not set. */
export function readAllPairs({ flags }: Pick<Flags, 'flags'>, name: string): readonly Located<KeyedText>[] | undefined {
  const given = flags(name);
  const pairs = Object.assign({}, ...given.filter((text) => text !== '').map((text) => readPairs(name, text)));
  const located = Object.entries<string>(pairs).map(([key, text]) => ({ value: { key, text }, path: `--${name}` }));
  return given.length === 0 ? undefined : located;
}

/** The value of a flag, which findings locate at the flag; undefined if it is not set. */
export function readFlag<T>(
  { flag }: Pick<Flags, 'flag'>,
  name: string,
  read: (text: string, name: string) => T,
): Located<T> | undefined {
  const text = flag(name);
  return text === undefined ? undefined : { value: read(text, name), path: `--${name}` };
}

export function readWords(flags: Pick<Flags, 'flag'>, name: string): Located<string> | undefined {
  return readFlag(flags, name, (text) => text);
}

/** Parses `type=nvidia-tesla-t4,count=1`, in any order and either spelling; the count defaults to 1. */
export function readAccelerator({ flag }: Pick<Flags, 'flag'>, name: string): AcceleratorDraft | undefined {
  const text = flag(name);
  if (text === undefined) {
    return undefined;
  }
  const { type = '', count = '1', ...others } = readPairs(name, text);
  if (type === '' || Object.keys(others).length > 0 || !/^[1-9]\d{0,2}$/.test(count)) {
    throw new InvalidFlagError(`--${name} ${text}: use type=TYPE,count=N with N greater than 0.`);
  }
  const path = `--${name}`;
  return { type: { value: toEnum(type), path }, count: { value: Number(count), path } };
}

export function parseCount(text: string, name: string): number {
  if (!/^\d{1,6}$/.test(text)) {
    throw new InvalidFlagError(`--${name} ${text}: use a whole number, such as 2.`);
  }
  return Number(text);
}

/** Parses US dollars, above 0. */
export function parseUsd(text: string, name: string): number {
  const usd = Number(text.replace(/^\$/, ''));
  if (!(/\d/.test(text) && usd > 0 && Number.isFinite(usd))) {
    throw new InvalidFlagError(`--${name} ${text}: use an amount of US dollars above 0, such as 20.`);
  }
  return usd;
}

/** Accepts `standard-1` and `STANDARD_1`; returns the API's spelling. */
export function parseChoice(text: string, name: string): string {
  const choices = CHOICES[name] ?? [];
  if (!choices.includes(text.toLowerCase().replaceAll('_', '-'))) {
    throw new InvalidFlagError(`--${name} ${text}: the choices are ${choices.join(', ')}.`);
  }
  return toEnum(text);
}

function toEnum(text: string): string {
  return text.toUpperCase().replaceAll('-', '_');
}

/** Returns the key's full resource name, which gcloud also accepts in separate flags. */
export function readKmsKey(flag: Flags['flag']): string | undefined {
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
