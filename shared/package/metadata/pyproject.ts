import { parse, TomlError } from 'smol-toml';
import { z } from 'zod';
import { packageProblemOf } from '#shared/package/archive/package-problem.ts';
import type { ProjectMetadata } from '#shared/package/metadata/core-metadata.ts';
import { type PackageRoot, rootOf } from '#shared/package/metadata/package-root.ts';
import type { Problem } from '#shared/protocol/report.ts';

const strings = z.array(z.string());

/** What is read of pyproject.toml: the `[project]` table (PyPA specification), and where build backends keep the code. */
const pyprojectSchema = z.object({
  project: z
    .object({
      name: z.string(),
      version: z.string().optional(),
      dependencies: strings.optional(),
      'requires-python': z.string().optional(),
    })
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
      dropforge: z.object({ ignore: strings.optional() }).optional(),
      poetry: z
        .object({
          name: z.string().optional(),
          version: z.string().optional(),
          packages: z.array(z.object({ include: z.string(), from: z.string().optional() })).optional(),
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
  /** Where import packages lie, as far as the file says. */
  readonly roots: readonly PackageRoot[];
  /** Checks of the package that its author wants left out: `[tool.dropforge] ignore`. */
  readonly ignoredChecks: readonly string[];
};

/** Reads pyproject.toml, or says what is wrong with it, with the line where TOML itself is broken. */
export function readPyproject(text: string, path: string): Pyproject | Problem {
  let table: unknown;
  try {
    table = parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) {
      throw error;
    }
    const [said = ''] = error.message.split('\n');
    return { ...packageProblemOf('PYPROJECT_INVALID', `${path} is no TOML: ${said}`, path), line: error.line };
  }
  const reading = pyprojectSchema.safeParse(table);
  if (!reading.success) {
    const [issue] = reading.error.issues;
    const message = `${path}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is not as specified'}.`;
    return packageProblemOf('PYPROJECT_INVALID', message, path);
  }
  const { project, tool } = reading.data;
  return {
    metadata: {
      name: project?.name ?? tool?.poetry?.name ?? null,
      version: project?.version ?? tool?.poetry?.version ?? null,
      requiresPython: project?.['requires-python'] ?? null,
      requirements: project?.dependencies ?? [],
    },
    roots: rootsOf(tool),
    ignoredChecks: tool?.dropforge?.ignore ?? [],
  };
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
