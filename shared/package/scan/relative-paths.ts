/** A string of a Python source that may be a relative path. */
export type RelativePath = { readonly text: string; readonly line: number };

const COUNT_MAX = 20;

/** A string at the start of an argument or value; one after a comma usually continues a path: `join(HERE, '../data')`. */
const STRING = /[(=[{:]\s*[rRuUbBfF]?(["'])([^"'\n\\]{1,200})\1/g;
const FILE_NAME = /^[\w./-]+\.(?!py$)\w{1,8}$/;
const LEADS_OUT = /^(?:\.\/)*(?:\.\.\/)+[^.]/;

/** Programs that know where they are, or go there: their paths do not depend on where they start. */
const CHANGES_FOLDER = /\bchdir\b/;
const IS_INDEPENDENT = /__file__|\bsys\.path\b|^\s*#/;

/**
 * Strings of a Python source that may be paths relative to its folder: those that begin with `../`, and names of files.
 * At most COUNT_MAX; empty if the program changes its working directory.
 */
export function findRelativePaths(source: string): readonly RelativePath[] {
  if (CHANGES_FOLDER.test(source)) {
    return [];
  }
  return source
    .split('\n')
    .flatMap((line, index) =>
      IS_INDEPENDENT.test(line)
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
