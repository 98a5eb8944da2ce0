import { parse } from 'yaml';
import * as z from 'zod';
import { DEPENDENCY_FILES } from '#shared/package/archive/package-file-names.ts';
import { nameOfRequirement, normalizeName, printableRequirement } from '#shared/package/metadata/core-metadata.ts';
import { readLockFile } from '#shared/package/metadata/lock-file.ts';
import { evaluateMarker } from '#shared/package/metadata/marker.ts';
import { NO_PYPROJECT, type Pyproject, readPyproject } from '#shared/package/metadata/pyproject.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { listFirst } from '#shared/text/list-first.ts';

type Folder = {
  readonly readText: (name: string) => string | null;
  readonly isProject: boolean;
  /** Whether it is a project that declares dependencies, which pip installs. */
  readonly isDeclared: boolean;
  /** Whether its requirements.txt is installed. */
  readonly hasRequirementsFile: boolean;
};

export type Dependencies = {
  /** In addition to a requirements.txt, and to what a project declares. */
  readonly requirements: readonly string[];
  /** Each list or package that is not installed, and its replacement. */
  readonly warnings: readonly Problem[];
  /** The Python versions of an environment of conda, `==3.10.*`; null if there are none. */
  readonly pythonLimit: string | null;
};

/** Groups for the development of a project: no program needs them, and no warning names them. */
const DEVELOPMENT = /^(?:dev|test|lint|doc|typ|format|ci$|build|release|bench|notebook|jupyter|pre-commit|style|qa)/i;
const NAMES_SHOWN_MAX = 5;

/** Decides which of a folder's lists of dependencies is installed: one of them, since two may contradict each other. */
export function readDependencies({ readText, isProject, isDeclared, hasRequirementsFile }: Folder): Dependencies {
  const read = readPyproject(readText('pyproject.toml') ?? '', 'pyproject.toml');
  const pyproject = 'code' in read ? NO_PYPROJECT : read;
  const own = [...(isProject ? [] : pyproject.metadata.requirements), ...pyproject.groupRequirements];
  const warnings = warnOfGroups(pyproject);
  const present = DEPENDENCY_FILES.filter((name) => readText(name) !== null);
  const install = (list: string, found: Partial<Dependencies> = {}): Dependencies => {
    const others = present.filter((name) => name !== list).join(' and ');
    const unused = notInstalled(
      `Packages are installed from ${list}, and not from ${others}.`,
      `Add to ${list} what the program needs of ${others}.`,
    );
    const all = [...warnings, ...(found.warnings ?? []), ...(others === '' || list === '' ? [] : [unused])];
    return { requirements: own, pythonLimit: null, ...found, warnings: all };
  };
  if (hasRequirementsFile) {
    return install('requirements.txt');
  }
  for (const name of present) {
    const isLock = name.endsWith('.lock');
    if (!isLock && (own.length > 0 || isDeclared)) {
      return install(isDeclared ? 'the dependencies of the project' : 'pyproject.toml');
    }
    try {
      return install(name, (isLock ? readLock : readEnvironment)(name, readText(name) ?? '', pyproject));
    } catch {
      // The parsers throw many kinds of errors, for deep nesting and too many aliases, too.
      warnings.push(notRead(name));
    }
  }
  if (!isProject && own.length === 0 && pyproject.poetryNames.length > 0) {
    const what = 'pyproject.toml lists dependencies that only Poetry can read';
    warnings.push(notInstalled(`${what}: they are not installed.`, 'Run `poetry lock`, and pack poetry.lock, too.'));
  }
  return install('');
}

function readLock(name: string, text: string, pyproject: Pyproject): Partial<Dependencies> {
  const { groups, groupRequirements, metadata, poetryNames } = pyproject;
  const declared = [...metadata.requirements, ...groupRequirements];
  const names = [...declared.map(nameOfRequirement), ...poetryNames.map(normalizeName)];
  const { requirements, names: locked, overrides, local } = readLockFile(text, groups, names);
  const left = declared.filter((one) => {
    const isForLinux = evaluateMarker(/;(.*)$/.exec(one)?.[1] ?? '', null) !== false;
    return isForLinux && !locked.has(nameOfRequirement(one));
  });
  const outdated = `${name} lacks ${listNames(left)}, which pyproject.toml lists: the newest version is installed.`;
  const overridden = `${name} overrides what packages require of ${listNames(overrides)}: nothing is installed that it does not list.`;
  const atPaths = `${name} has ${listNames(local)} at paths, which are not installed.`;
  return {
    requirements: [...requirements, ...left],
    warnings: [
      ...(left.length === 0 ? [] : [notInstalled(outdated, `Run \`${name.replace('.', ' ')}\`.`)]),
      ...(overrides.length === 0
        ? []
        : [notInstalled(overridden, 'Lock what other packages of the job require, too.')]),
      ...(local.length === 0 ? [] : [notInstalled(atPaths, 'Add their wheels to the packages of the job.')]),
    ],
  };
}

const environmentSchema = z.object({
  dependencies: z.array(z.union([z.string(), z.object({ pip: z.array(z.string()).nullish() })])).nullish(),
});

/** The pip part of an environment of conda. */
function readEnvironment(name: string, text: string): Partial<Dependencies> {
  const listed = environmentSchema.parse(parse(text)).dependencies ?? [];
  const ofPip = listed.flatMap((one) => (typeof one === 'string' ? [] : (one.pip ?? [])));
  const ofConda = listed.filter((one) => typeof one === 'string').map((one) => one.replace(/^[\w-]+::/, ''));
  const python = ofConda.map((one) => /^python\s*([=<>!~ ].*)$/.exec(one)?.[1]).find((one) => one !== undefined);
  const minor = /^[=\s]*(\d+\.\d+)/.exec(python ?? '')?.[1];
  const isIndex = (line: string) => /^--(?:(?:extra-)?index-url|find-links)\b.*$/.test(line);
  const isRequirement = (line: string) => /^\w.*$/.test(line);
  const left = [
    ...ofConda.filter((one) => !/^(?:python|pip)(?![\w-])/.test(one)),
    ...ofPip.filter((line) => !isIndex(line) && !isRequirement(line)),
  ];
  const message = `Of ${name}, only the part of pip is installed: ${listNames(left)} are not, unless the image has them.`;
  const remedy = 'Add those that the program needs to the part of pip, by the names that they have on PyPI.';
  return {
    requirements: ofPip.flatMap((line) => (isIndex(line) ? line.replace(/\s+/, '=') : isRequirement(line) ? line : [])),
    pythonLimit: minor === undefined ? (python ?? null) : `==${minor}.*`,
    warnings: left.length === 0 ? [] : [notInstalled(message, remedy)],
  };
}

function warnOfGroups({ unusedGroups, unknownGroups }: Pyproject): Problem[] {
  const names = unusedGroups.filter((name) => !DEVELOPMENT.test(name));
  const unused = `Dependency groups are not installed by themselves: ${listNames(names)}.`;
  const remedy = `If the program needs one, name it in pyproject.toml: groups = ["${listNames(names.slice(0, 1))}"] under [tool.dropforge].`;
  const unknown = `pyproject.toml has no dependency group or extra ${listNames(unknownGroups)}.`;
  return [
    ...(names.length === 0 ? [] : [notInstalled(unused, remedy)]),
    ...(unknownGroups.length === 0 ? [] : [notInstalled(unknown, 'Correct groups under [tool.dropforge].')]),
  ];
}

function listNames(names: readonly string[]): string {
  return listFirst(names.map(printableRequirement), NAMES_SHOWN_MAX);
}

export function notRead(path: string): Problem {
  const message = `${printableRequirement(path)} is invalid or too large: it is not read, and not installed.`;
  return notInstalled(message, 'Write it again with its tool, or list what the program needs in a requirements.txt.');
}

function notInstalled(message: string, remedy: string): Problem {
  return { code: 'DEPENDENCIES_NOT_INSTALLED', message, remedy };
}
