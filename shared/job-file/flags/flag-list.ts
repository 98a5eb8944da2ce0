/** A flag or its value is invalid; the message says what to write instead. */
export class InvalidFlagError extends Error {
  override readonly name = 'InvalidFlagError';
}

/** The flags of one command line. */
export type Flags = {
  /** The value, `true` for a switch; undefined if the flag is not set. */
  readonly flag: (name: string) => string | undefined;
  readonly flags: (name: string) => readonly string[];
  readonly isSet: (name: string) => boolean;
  /** The arguments of the program, which follow `--`. */
  readonly rest: readonly string[];
};

/** The flags with these names as a list; `replaced` has those whose values are not those of the command line. */
export function writeFlags(
  { flags, rest }: Pick<Flags, 'flags' | 'rest'>,
  names: readonly string[],
  replaced: Readonly<Record<string, readonly string[]>> = {},
): readonly string[] {
  const written = names.flatMap((name) =>
    (replaced[name] ?? flags(name)).map((value) => (SWITCHES.has(name) ? `--${name}` : `--${name}=${value}`)),
  );
  return rest.length === 0 ? written : [...written, '--', ...rest];
}

const SWITCHES: ReadonlySet<string> = new Set(['enable-web-access', 'spot']);

/** Reads a list that `writeFlags` has written. Throws InvalidFlagError for names that the command does not have. */
export function readFlags(list: readonly string[], names: readonly string[]): Flags {
  const end = list.indexOf('--');
  const values = new Map<string, string[]>();
  const given = end === -1 ? list : list.slice(0, end);
  for (const item of given.filter((text) => text !== '')) {
    const [, name = '', value = 'true'] = /^--([a-z-]+)(?:=(.*))?$/s.exec(item) ?? [];
    if (!names.includes(name)) {
      throw new InvalidFlagError(`${item} is not a flag that overrides a job file. Remove it.`);
    }
    values.set(name, [...(values.get(name) ?? []), value]);
  }
  return {
    flag: (name) => values.get(name)?.at(-1),
    flags: (name) => values.get(name) ?? [],
    isSet: (name) => values.has(name),
    rest: end === -1 ? [] : list.slice(end + 1),
  };
}
