/** A string of a Python source that may be a relative path. */
export type RelativePath = { readonly text: string; readonly line: number };

const COUNT_MAX = 20;

/** A string at the start of an argument or value; one after a comma usually continues a path: `join(HERE, '../data')`. */
const STRING = /[(=[{:]\s*[rRuUbBfF]?(["'])([^"'\n\\]{1,200})\1/g;
const FILE_NAME = /^[\w./-]+\.(?!py$)\w{1,8}$/;
const LEADS_OUT = /^(?:\.\/)*(?:\.\.\/)+[^.]/;

/** Programs that know where they are, or go there, and libraries that do: what their paths begin with cannot be seen. */
const IS_INDEPENDENT = /__file__|\bchdir\b|\bsys\.path\b|\bfrom sys import path\b|\bimportlib\b|\bpkgutil\b|\bhydra\b/;
const LONG_STRING = /("{3}|'{3})[\s\S]*?\1/g;

/**
 * Strings of a Python source that may be paths relative to its folder: those that begin with `../`, and names of files.
 * At most COUNT_MAX; empty if its paths may not begin in the working directory.
 */
export function findRelativePaths(source: string): readonly RelativePath[] {
  if (IS_INDEPENDENT.test(source)) {
    return [];
  }
  return source
    .replace(LONG_STRING, (text) => text.replace(/[^\n]/g, ''))
    .split('\n')
    .flatMap((line, index) =>
      /^\s*#/.test(line)
        ? []
        : [...line.slice(0, LINE_CHARACTERS_MAX).matchAll(STRING)].flatMap(([, , text = '']) =>
            leadsOut(text) || FILE_NAME.test(text) ? [{ text, line: index + 1 }] : [],
          ),
    )
    .slice(0, COUNT_MAX);
}

const LINE_CHARACTERS_MAX = 1_000;

/** Whether a path leads out of its folder. */
export function leadsOut(text: string): boolean {
  return LEADS_OUT.test(text);
}
