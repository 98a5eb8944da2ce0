const BLOCK = /^# \/\/\/ script[ \t]*\r?\n(?:#(?: [^\n]*)?\r?\n){1,200}?# \/\/\/[ \t]*\r?$/m;

/** The inline metadata of a script with its markers (PEP 723: `# /// script`); null if it has none. */
export function findScriptBlock(text: string): string | null {
  return BLOCK.exec(text)?.[0] ?? null;
}

/** The TOML text of the inline metadata in a script; '' if it has none. */
export function readScriptBlock(text: string): string {
  const lines = findScriptBlock(text)?.split(/\r?\n/) ?? [];
  return lines
    .slice(1, -1)
    .map((line) => line.replace(/^# ?/, ''))
    .join('\n');
}
