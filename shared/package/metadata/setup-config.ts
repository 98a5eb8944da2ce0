/** The options of a setup.cfg by lowercase section and name, each with the lines of its value. */
export type SetupConfig = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;

/** Parses setup.cfg like Python's configparser: indented lines continue a value, `#` and `;` start comments. */
export function readSetupConfig(text: string): SetupConfig {
  const sections = new Map<string, Map<string, string[]>>();
  let section = new Map<string, string[]>();
  let lines: string[] | null = null;
  for (const line of text.split(/\r?\n/)) {
    const trimmed = line.trim();
    if (trimmed === '' || /^[#;]/.test(trimmed)) {
      continue;
    }
    if (/^\s/.test(line) && lines !== null) {
      lines.push(trimmed);
      continue;
    }
    const heading = /^\[([^\]]+)\]/.exec(trimmed)?.[1]?.toLowerCase();
    const separator = trimmed.search(/[=:]/);
    if (heading !== undefined) {
      section = sections.get(heading) ?? new Map();
      sections.set(heading, section);
      lines = null;
    } else if (separator > 0) {
      const value = trimmed.slice(separator + 1).trim();
      lines = value === '' ? [] : [value];
      section.set(trimmed.slice(0, separator).trim().toLowerCase(), lines);
    }
  }
  return sections;
}
