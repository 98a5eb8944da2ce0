/** An import statement that is executed whenever its module is: at the top level of the file, in no block. */
export type ModuleImport = {
  /** `a.b` of `import a.b` and `from a.b import c`; '' for `from . import c`. */
  readonly module: string;
  /** The number of leading dots. */
  readonly level: number;
  /** The names after `import` in `from a.b import c, d`. */
  readonly names: readonly string[];
  /** From 1. */
  readonly line: number;
};

/** With single spaces: two runs of spaces beside each other would take the square of the time. */
const STATEMENT =
  /^(?:import (?<modules>[\w., ]+)|from ?(?<dots>\.*) ?(?<from>\w[\w.]*)?(?:(?<=\.) ?| )import\b(?<names>.*))/;
const LINES_PER_STATEMENT_MAX = 100;
/** Longer names, and further ones of a statement, are ignored: each part of a name is looked up. */
const NAME_CHARACTERS_MAX = 256;
const NAMES_MAX = 200;

/** Finds the imports at the top level of a source without strings and comments. Imports in blocks may never happen. */
export function findModuleImports(code: string): ModuleImport[] {
  const lines = code.split('\n');
  return lines.flatMap((text, index): ModuleImport[] => {
    if (!/^(?:import|from)\b/.test(text)) {
      return [];
    }
    // Several statements on one line are separate; a list in parentheses may continue on the next ones.
    return joinContinued(lines, index)
      .split(';')
      .flatMap((statement) => readStatement(statement.trim(), index + 1));
  });
}

function joinContinued(lines: readonly string[], start: number): string {
  let joined = (lines[start] ?? '').trimEnd();
  for (let index = start + 1; index < Math.min(lines.length, start + LINES_PER_STATEMENT_MAX); index += 1) {
    if (joined.endsWith('\\')) {
      joined = joined.slice(0, -1);
    } else if (!joined.includes('(') || joined.includes(')')) {
      break;
    }
    joined += ` ${(lines[index] ?? '').trim()}`;
  }
  return joined;
}

function readStatement(statement: string, line: number): ModuleImport[] {
  const { modules, dots = '', from = '', names = '' } = STATEMENT.exec(statement.replace(/[ \t]+/g, ' '))?.groups ?? {};
  if (modules !== undefined) {
    const listed = modules.split(',', NAMES_MAX).map((part) => part.trim().split(' ')[0] ?? '');
    return listed.filter(isRead).map((module) => ({ module, level: 0, names: [], line }));
  }
  const imported = names.replace(/[()]/g, '').split(',', NAMES_MAX);
  const listed = imported.map((name) => name.trim().split(' ')[0] ?? '').filter((name) => /^\w+$/.test(name));
  return !isRead(`${dots}${from}`) ? [] : [{ module: from, level: dots.length, names: listed, line }];
}

function isRead(name: string): boolean {
  return name !== '' && name.length <= NAME_CHARACTERS_MAX;
}
