import { FUNCTIONS, type FunctionName } from '#functions/functions.ts';
import { SETTINGS, type SettingName, type Settings } from '#functions/settings.ts';

export type SettingsOf<Name extends FunctionName> = Settings<(typeof FUNCTIONS)[Name]['settings'][number]>;

export type SettingsReading<Name extends FunctionName> =
  | { readonly settings: SettingsOf<Name> }
  /** Everything that is missing or invalid, in one text. It repeats no value: a misplaced one may be a secret. */
  | { readonly problem: string };

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the settings of one function from the environment. An empty variable counts as not set. */
export function readSettings<Name extends FunctionName>(name: Name, environment: Environment): SettingsReading<Name> {
  const names: readonly SettingName[] = FUNCTIONS[name].settings;
  const given = names.map((setting) => [setting, environment[setting] || undefined] as const);
  const read = given.map(([setting, text]) => [setting, SETTINGS[setting].safeParse(text)] as const);
  const problems = read.flatMap(([setting, { success }]) =>
    success ? [] : [`${setting} is ${environment[setting] ? 'invalid' : 'missing'}: ${SETTINGS[setting].description}.`],
  );
  if (problems.length > 0) {
    const intro = `The function ${name} cannot start: ${problems.length} of its settings are missing or invalid.`;
    return { problem: [intro, ...problems, 'Set them in its environment; terraform apply does so.'].join('\n') };
  }
  // Each value was parsed by the schema of its setting.
  return { settings: Object.fromEntries(read.map(([setting, { data }]) => [setting, data])) as SettingsOf<Name> };
}
