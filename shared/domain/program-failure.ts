import type { CauseCode } from '#shared/domain/cause.ts';

/** Why a program failed, from its last lines; `explanation` is a sentence, or null if the code says all. */
export type ProgramFailure = { readonly code: CauseCode; readonly explanation: string | null };

type Rule = {
  readonly pattern: RegExp;
  readonly failureOf: (groups: Readonly<Record<string, string | undefined>>) => ProgramFailure;
};

const plain = (code: CauseCode) => () => ({ code, explanation: null });

/** Written by Python itself when it cannot find what it is to run (runpy.py, Modules/main.c). */
const NOT_STARTED: readonly Rule[] = [
  {
    pattern: /^\S*python[\d.]*: (?:No module named|Error while finding module specification for) '?(?<name>[\w.]+)/,
    failureOf: ({ name }) => ({
      code: 'PROGRAM_NOT_FOUND',
      explanation: `Python found no module ${name} in what was installed.`,
    }),
  },
  {
    pattern: /^\S*python[\d.]*: can't (?:open file|find) '?(?<name>[^':]+)/,
    failureOf: ({ name }) => ({ code: 'PROGRAM_NOT_FOUND', explanation: `Python found no program ${name}.` }),
  },
];

/** For the line of the exception that ended the program; the first one that matches counts. */
const EXCEPTIONS: readonly Rule[] = [
  {
    pattern: /^(?:ModuleNotFoundError|ImportError)\b.*No module named '?(?<name>[\w.]+)/,
    failureOf: ({ name }) => ({ code: 'MODULE_NOT_FOUND', explanation: `Module ${name} is not installed.` }),
  },
  {
    // Of an optional requirement: the module's own message names what to install.
    pattern: /^(?:ModuleNotFoundError|ImportError)\b.*(?:[Mm]issing (?:optional )?dependency|[Ii]nstall\b)/,
    failureOf: plain('MODULE_NOT_FOUND'),
  },
  {
    pattern: /^(?:ImportError|OSError)\b: (?<library>\S+\.so[\d.]*): cannot open shared object file/,
    failureOf: ({ library }) => ({
      code: 'IMPORT_FAILED',
      explanation: `The library ${library} is not on the VM: a module was built for other versions than the image has.`,
    }),
  },
  {
    pattern:
      /^ImportError\b.*cannot import name '?(?<name>\w+)'?(?:\sfrom\s'?(?<origin>[\w.]+)'?)?(?: \((?<path>[^)]*)\))?/,
    failureOf: ({ name, origin, path }) =>
      isInstalled(path)
        ? {
            code: 'IMPORT_FAILED',
            explanation: `The installed version of ${origin ?? 'a module'} has no ${name}.`,
          }
        : { code: 'PROGRAM_FAILED', explanation: `The program's own module ${origin} has no ${name}.` },
  },
  { pattern: /^ImportError\b/, failureOf: plain('IMPORT_FAILED') },
  {
    pattern:
      /^MemoryError\b|CUDA out of memory|OutOfMemoryError|ResourceExhaustedError|RESOURCE_EXHAUSTED: Out of memory/,
    failureOf: plain('OUT_OF_MEMORY'),
  },
  { pattern: /No space left on device|Errno 28/, failureOf: plain('DISK_FULL') },
];

const EXCEPTION_LINE = /^[\w.]*(?:Error|Exception|Interrupt)\b/;

/** Classifies a program that exited with an error by itself. */
export function classifyProgramFailure(evidence: readonly string[]): ProgramFailure {
  const last = evidence.findLast((line) => line.trim() !== '') ?? '';
  const exception = evidence.findLast((line) => EXCEPTION_LINE.test(line)) ?? last;
  return (
    findFailure(NOT_STARTED, last) ??
    findFailure(EXCEPTIONS, exception) ?? { code: 'PROGRAM_FAILED', explanation: null }
  );
}

function findFailure(rules: readonly Rule[], line: string): ProgramFailure | undefined {
  for (const { pattern, failureOf } of rules) {
    const groups = pattern.exec(line);
    if (groups !== null) {
      return failureOf(groups.groups ?? {});
    }
  }
  return undefined;
}

/** Whether a file belongs to an installed distribution or to Python; modules without a file are Python's own. */
function isInstalled(path: string | undefined): boolean {
  return path === undefined || path === 'unknown location' || /\/(?:site|dist)-packages\/|\/lib\/python\d/.test(path);
}
