import { type Findings, packageProblem } from '#shared/package/archive/package-problem.ts';
import {
  mergeMetadata,
  NO_METADATA,
  type ProjectMetadata,
  readCoreMetadata,
} from '#shared/package/metadata/core-metadata.ts';
import type { PackageFiles, Project } from '#shared/package/metadata/package-files.ts';
import { type PackageRoot, rootOf } from '#shared/package/metadata/package-files.ts';
import { NO_PYPROJECT, readPyproject } from '#shared/package/metadata/pyproject.ts';
import { readSetupConfig, type SetupConfig } from '#shared/package/metadata/setup-config.ts';
import { readSetupArguments, type SetupLiteral } from '#shared/package/metadata/setup-script.ts';

/** By default, setuptools finds packages next to setup.py and in src/ ("automatic discovery"). */
const DISCOVERED_ROOTS: readonly PackageRoot[] = [rootOf('src'), rootOf('')];

/**
 * Reads the project of a source distribution or of a zip of its directory. Generated metadata (PKG-INFO) takes
 * precedence over the author's files. Runs no code, so values computed by setup.py are unknown.
 */
export function readSourceProject(files: PackageFiles, findings: Findings): Project {
  const pkgInfo = files.readText('PKG-INFO');
  const pyprojectText = files.readText('pyproject.toml');
  const scriptText = files.readText('setup.py');
  const configText = files.readText('setup.cfg');
  if (!files.has('setup.py') && !files.has('pyproject.toml')) {
    checkContainsPython(files, findings);
  }
  const pyproject = pyprojectText === null ? null : readPyproject(pyprojectText, files.pathOf('pyproject.toml'));
  if (pyproject !== null && 'code' in pyproject) {
    findings.addProblem(pyproject);
  }
  const valid = pyproject === null || 'code' in pyproject ? NO_PYPROJECT : pyproject;
  const script = readSetupArguments(scriptText ?? '');
  const config = readSetupConfig(configText ?? '');
  const requirementFiles = findRequirementFiles(files, [scriptText, configText, pyprojectText]);
  const isComputed = /\binstall_requires\b/.test(scriptText ?? '') && listOf(script.get('install_requires')) === null;
  const roots = [...rootsOfScript(script), ...rootsOfConfig(config), ...valid.roots];
  return {
    metadata: mergeMetadata([
      pkgInfo === null ? NO_METADATA : readCoreMetadata(pkgInfo),
      valid.metadata,
      metadataOfConfig(config),
      metadataOfScript(script),
    ]),
    roots: roots.length > 0 ? roots : DISCOVERED_ROOTS,
    wheelTags: [],
    ignoredChecks: valid.ignoredChecks,
    requirementFiles,
    hasComputedRequirements:
      (isComputed && requirementFiles.length === 0) || LISTED_ELSEWHERE.test(pyprojectText ?? ''),
    buildText: [scriptText, configText, pyprojectText].join('\n'),
  };
}

/** Dependencies that other build backends read, or compute. */
const LISTED_ELSEWHERE = /^\s*\[tool\.(?:poetry|pdm|flit)[\w.]*dependencies|^\s*dynamic\s*=[^\]]*dependencies/m;

/** Requirements files that a build file mentions, and so presumably reads. pip itself reads none of them. */
function findRequirementFiles(files: PackageFiles, buildTexts: readonly (string | null)[]): string[] {
  return files.paths
    .filter((path) => !path.includes('/') && files.evidence.requirementFiles.has(files.pathOf(path)))
    .filter((path) => buildTexts.some((text) => text?.includes(path)))
    .map((path) => files.pathOf(path));
}

/** Sources run without a build file. */
function checkContainsPython(files: PackageFiles, findings: Findings): void {
  if (files.paths.some((path) => /^[^/]+\.dist-info\/WHEEL$/.test(path))) {
    const message = 'The archive is a wheel: restore its name, which ends in .whl.';
    findings.addProblem(packageProblem('NOT_INSTALLABLE', message));
  } else if (!files.paths.some((path) => path.endsWith('.py'))) {
    const hasNotebook = files.paths.some((path) => path.endsWith('.ipynb'));
    findings.addProblem(
      hasNotebook
        ? packageProblem('NOTEBOOK', 'The package contains notebooks and no Python files; jobs run Python programs.')
        : packageProblem('NOT_INSTALLABLE', 'The package contains no Python files.'),
    );
  }
}

type SetupArguments = ReadonlyMap<string, SetupLiteral>;

function metadataOfScript(script: SetupArguments): ProjectMetadata {
  return {
    name: stringOf(script.get('name')),
    version: stringOf(script.get('version')),
    requiresPython: stringOf(script.get('python_requires')),
    requirements: listOf(script.get('install_requires')) ?? [],
  };
}

function metadataOfConfig(config: SetupConfig): ProjectMetadata {
  const metadata = config.get('metadata');
  const options = config.get('options');
  const version = metadata?.get('version')?.[0] ?? null;
  return {
    name: metadata?.get('name')?.[0] ?? null,
    version: version !== null && /^(?:attr|file):/.test(version) ? null : version,
    requiresPython: options?.get('python_requires')?.[0] ?? null,
    requirements: options?.get('install_requires') ?? [],
  };
}

function rootsOfScript(script: SetupArguments): PackageRoot[] {
  const directories = script.get('package_dir');
  return directories instanceof Map
    ? [...directories].map(([prefix, directory]: [string, string]) => rootOf(directory, prefix))
    : [];
}

function rootsOfConfig(config: SetupConfig): PackageRoot[] {
  const directories = (config.get('options')?.get('package_dir') ?? []).map((line) => {
    const [prefix = '', directory = ''] = line.split('=').map((part) => part.trim());
    return rootOf(directory, prefix);
  });
  const where = config.get('options.packages.find')?.get('where') ?? [];
  return [...directories, ...where.map((directory) => rootOf(directory))];
}

function stringOf(literal: SetupLiteral | undefined): string | null {
  return typeof literal === 'string' ? literal : null;
}

/** setuptools also accepts a string with one requirement per line as a list. */
function listOf(literal: SetupLiteral | undefined): readonly string[] | null {
  if (typeof literal === 'string') {
    return literal
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
  }
  return Array.isArray(literal) ? literal : null;
}
