import { parse, TomlError } from 'smol-toml';
import * as z from 'zod';
import { packageProblem } from '#shared/package/archive/package-problem.ts';
import { NO_METADATA, type ProjectMetadata } from '#shared/package/metadata/core-metadata.ts';
import { type PackageRoot, rootOf } from '#shared/package/metadata/package-files.ts';
import type { Problem } from '#shared/protocol/problem.ts';

const strings = z.array(z.string());

/**
 * The supported fields of pyproject.toml: `[project]` (PyPA specification), and package locations of build backends.
 */
const pyprojectSchema = z.object({
  project: z
    .object({
      name: z.string(),
      version: z.string().optional(),
      dependencies: strings.optional(),
      'requires-python': z.string().optional(),
      'optional-dependencies': z.record(z.string(), strings).catch({}).optional(),
    })
    .optional(),
  'dependency-groups': z
    .record(z.string(), z.array(z.union([z.string(), z.object({ 'include-group': z.string() })])))
    .catch({})
    .optional(),
  tool: z
    .object({
      setuptools: z
        .object({
          'package-dir': z.record(z.string(), z.string()).optional(),
          packages: z
            .union([strings, z.object({ find: z.object({ where: strings.optional() }).optional() })])
            .optional(),
        })
        .optional(),
      dropforge: z.object({ ignore: strings.optional(), groups: strings.optional() }).optional(),
      uv: z.object({ 'default-groups': strings.optional() }).catch({}).optional(),
      poetry: z
        .object({
          name: z.string().optional(),
          version: z.string().optional(),
          packages: z.array(z.object({ include: z.string(), from: z.string().optional() })).optional(),
          dependencies: z.record(z.string(), z.unknown()).optional(),
          group: z.record(z.string(), z.unknown()).optional(),
        })
        .optional(),
      hatch: z
        .object({
          build: z
            .object({ targets: z.object({ wheel: z.object({ packages: strings.optional() }).optional() }).optional() })
            .optional(),
        })
        .optional(),
    })
    .optional(),
});

export type Pyproject = {
  readonly metadata: ProjectMetadata;
  /** Locations of import packages, as far as the file specifies them. */
  readonly roots: readonly PackageRoot[];
  /** Codes of disabled lint checks: `[tool.dropforge] ignore`. */
  readonly ignoredChecks: readonly string[];
  /** The dependency groups and extras to install: `[tool.dropforge] groups`, or uv's `default-groups`. */
  readonly groups: readonly string[];
  readonly groupRequirements: readonly string[];
  readonly unusedGroups: readonly string[];
  readonly unknownGroups: readonly string[];
  /** The dependencies that only Poetry can read, by name. */
  readonly poetryNames: readonly string[];
};

/** Parses pyproject.toml; returns a problem if it is invalid, with the line of a TOML syntax error. */
export function readPyproject(text: string, path: string): Pyproject | Problem {
  let table: unknown;
  try {
    table = parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) {
      throw error;
    }
    const [reason = ''] = error.message.split('\n');
    return { ...packageProblem('PYPROJECT_INVALID', `${path} is not valid TOML: ${reason}`, path), line: error.line };
  }
  const reading = pyprojectSchema.safeParse(table);
  if (!reading.success) {
    const [issue] = reading.error.issues;
    const message = `${path}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is invalid'}.`;
    return packageProblem('PYPROJECT_INVALID', message, path);
  }
  return pyprojectOf(reading.data);
}

function pyprojectOf({ project, tool, ...data }: z.infer<typeof pyprojectSchema>): Pyproject {
  const lists = new Map(Object.entries({ ...project?.['optional-dependencies'], ...data['dependency-groups'] }));
  const groups = tool?.dropforge?.groups ?? tool?.uv?.['default-groups'] ?? [];
  const known = Object.keys({ ...data['dependency-groups'], ...tool?.poetry?.group });
  return {
    metadata: {
      name: project?.name ?? tool?.poetry?.name ?? null,
      version: project?.version ?? tool?.poetry?.version ?? null,
      requiresPython: project?.['requires-python'] ?? null,
      requirements: project?.dependencies ?? [],
    },
    roots: rootsOf(tool),
    ignoredChecks: tool?.dropforge?.ignore ?? [],
    groups,
    groupRequirements: requirementsOfGroups(groups, lists),
    unusedGroups: known.filter((name) => !groups.includes(name)),
    unknownGroups: groups.filter((name) => !known.includes(name) && !lists.has(name)),
    poetryNames: Object.keys(tool?.poetry?.dependencies ?? {}).filter((name) => name !== 'python'),
  };
}

export const NO_PYPROJECT = pyprojectOf({});

type GroupLists = ReadonlyMap<string, readonly (string | { readonly 'include-group': string })[]>;

/** A group can include others (PEP 735), each of which counts once. */
function requirementsOfGroups(groups: readonly string[], lists: GroupLists): string[] {
  const names = new Set(groups);
  const requirements: string[] = [];
  // A set also iterates over what is added meanwhile.
  for (const item of names.values().flatMap((name) => lists.get(name) ?? [])) {
    if (typeof item === 'string') {
      requirements.push(item);
    } else {
      names.add(item['include-group']);
    }
  }
  return requirements;
}

const scriptSchema = z.object({
  dependencies: strings.optional().catch(undefined),
  'requires-python': z.string().optional().catch(undefined),
});

/** Parses the inline metadata of a script (PEP 723), whose fields are those of `[project]`; none if it is invalid. */
export function readScriptMetadata(text: string): ProjectMetadata {
  try {
    const { dependencies = [], 'requires-python': requiresPython = null } = scriptSchema.parse(parse(text));
    return { ...NO_METADATA, requirements: dependencies, requiresPython };
  } catch (error) {
    if (error instanceof TomlError) {
      return NO_METADATA;
    }
    throw error;
  }
}

function rootsOf(tool: z.infer<typeof pyprojectSchema>['tool']): PackageRoot[] {
  const packages = tool?.setuptools?.packages;
  const where = packages === undefined || Array.isArray(packages) ? [] : (packages.find?.where ?? []);
  return [
    ...Object.entries(tool?.setuptools?.['package-dir'] ?? {}).map(([prefix, directory]) => rootOf(directory, prefix)),
    ...where.map((directory) => rootOf(directory)),
    ...(tool?.poetry?.packages ?? []).map(({ from = '' }) => rootOf(from)),
    ...(tool?.hatch?.build?.targets?.wheel?.packages ?? []).map((path) =>
      rootOf(path.split('/').slice(0, -1).join('/')),
    ),
  ];
}
