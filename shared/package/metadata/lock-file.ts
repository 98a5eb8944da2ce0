import { parse } from 'smol-toml';
import * as z from 'zod';
import { normalizeName } from '#shared/package/metadata/core-metadata.ts';
import { evaluateMarker } from '#shared/package/metadata/marker.ts';

/** One line: pip would read a second one as another requirement, or as options. */
const text = z.string().regex(/^.*$/);
/** A dependency of a package: a name, in all versions of the lock unless one is stated. */
const linkSchema = z.object({
  name: text,
  version: text.optional(),
  source: z.record(text, text).default({}),
  marker: text.default(''),
  extra: z.array(text).default([]),
});
const links = z.array(linkSchema);
const linksByName = z
  .record(text, links)
  .default({})
  .transform((table) => new Map(Object.entries(table)));
const constraint = z.union([text.transform(() => ({})), z.object({ markers: text.optional() })]);
const poetryLinks = z
  .record(text, z.union([constraint, z.array(constraint)]))
  .transform((table) =>
    Object.entries(table).flatMap(([name, stated]) =>
      [stated].flat().map((one: { markers?: string | undefined }) => linkSchema.parse({ name, marker: one.markers })),
    ),
  );
const PYPI = 'https://pypi.org/simple';
const IS_INDEX = /^https?:\S+$/;
/** A package of a uv.lock or, with `optional`, `groups` (since Poetry 2) and `markers`, of a poetry.lock. */
const packageSchema = z.object({
  name: text.regex(/^\w[\w.-]*$/).transform(normalizeName),
  version: text.regex(/^[\w.!+-]*$/).default(''),
  source: z.record(text, text).default({ registry: PYPI }),
  dependencies: z.union([links, poetryLinks]).default([]),
  'optional-dependencies': linksByName,
  'dev-dependencies': linksByName,
  optional: z.boolean().default(false),
  groups: z.array(text).optional(),
  markers: z.union([text, z.record(text, text)]).default(''),
});
const lockSchema = z.object({
  version: z.literal(1).optional(),
  manifest: z.object({ overrides: z.array(z.object({ name: text })).default([]) }).prefault({}),
  package: z.array(packageSchema).default([]),
});

type Link = z.infer<typeof linkSchema>;
type Package = z.infer<typeof packageSchema>;

/**
 * The requirements of a uv.lock or poetry.lock that a project has on Linux, after options that name indexes; the names
 * of all packages that it needs; and those at paths, such as members of a workspace, which have no requirement. `names`
 * are the project's dependencies, which a lock of Poetry 1 does not tell from those of groups. Throws if it is invalid.
 */
export function readLockFile(content: string, groups: readonly string[], names: readonly string[]) {
  const lock = lockSchema.parse(parse(content));
  const packages = lock.package.filter(({ optional }) => !optional);
  // Locks of Poetry state no version of theirs at the top.
  const starts = lock.version === 1 ? startsOf(packages, groups) : poetryStartsOf(packages, groups, names);
  const markersOf = reach(packages, starts, groups);
  const found = [...markersOf].filter(([one]) => !isProject(one));
  const pins = found.flatMap(([one, markers]) => {
    const requirement = requirementOf(one);
    const alternatives = [...markers].map((marker) => (markers.size > 1 ? `(${marker})` : marker)).join(' or ');
    return requirement === null ? [] : [markers.has('') ? requirement : `${requirement} ; ${alternatives}`];
  });
  const indexes = found.flatMap(([one]) => indexOf(one) ?? []).filter((url) => url !== PYPI && IS_INDEX.test(url));
  // pip refuses versions that override what other packages require.
  const options = lock.manifest.overrides.length > 0 ? ['--no-deps'] : [];
  return {
    requirements: [...options, ...[...new Set(indexes)].map((url) => `--extra-index-url=${url}`), ...pins.sort()],
    names: new Set([...markersOf.keys()].map(({ name }) => name)),
    overrides: lock.manifest.overrides.map(({ name }) => name),
    local: found.flatMap(([one]) => (requirementOf(one) === null ? [one.name] : [])),
  };
}

const isProject = ({ source }: Package) => source.virtual === '.' || source.editable === '.';
const indexOf = ({ source }: Pick<Package, 'source'>) =>
  source.registry ?? (source.type === 'legacy' ? source.url : undefined);

/** The dependencies of the project that uv has locked, or of all members of a workspace without one. */
function startsOf(packages: readonly Package[], groups: readonly string[]): readonly Link[] {
  const own = packages.filter(isProject);
  const members = packages.filter(({ source }) => source.virtual ?? source.editable);
  return (own.length > 0 ? own : members).flatMap((one) => [
    ...one.dependencies,
    ...groups.flatMap((name) => one['dev-dependencies'].get(name) ?? one['optional-dependencies'].get(name) ?? []),
  ]);
}

function poetryStartsOf(packages: readonly Package[], groups: readonly string[], names: readonly string[]) {
  const chosen = ['main', ...groups];
  return packages.flatMap(({ name, version, groups: own, markers }) => {
    const isDependency = names.length === 0 || names.includes(name);
    const found = own === undefined ? chosen.slice(0, isDependency ? 1 : 0) : chosen.filter((one) => own.includes(one));
    return found.map((group) =>
      linkSchema.parse({ name, version, marker: typeof markers === 'string' ? markers : markers[group] }),
    );
  });
}

/** Limits the time for many links to many packages of one name, in characters of their markers; a link counts as 20. */
const FOLLOWED_MAX = 20_000_000;
const LINK_CHARACTERS = 20;

/** The packages that links lead to, each with the markers of the links that may hold on a VM; '' if one does. */
function reach(packages: readonly Package[], starts: readonly Link[], groups: readonly string[]) {
  const byName = Map.groupBy(packages, ({ name }) => name);
  const markersOf = new Map<Package, Set<string>>();
  const pending = new Set(starts);
  let followed = 0;
  for (const { name, version, source, marker, extra } of pending) {
    const left = narrow(marker, groups);
    const candidates = byName.get(normalizeName(name)) ?? [];
    followed += candidates.length * (marker.length + LINK_CHARACTERS);
    if (followed > FOLLOWED_MAX) {
      throw new Error('The lock has too many links.');
    }
    const targets = candidates.filter(
      (one) =>
        (version ?? one.version) === one.version &&
        Object.entries(source).every(([kind, value]) => one.source[kind] === value),
    );
    for (const target of left === null ? [] : targets) {
      markersOf.set(target, (markersOf.get(target) ?? new Set()).add(left ?? ''));
      // The links of a package of Poetry 2 name no versions, and it states itself where it is needed.
      const own = target.groups === undefined ? target.dependencies : [];
      for (const next of [own, ...extra.map((one) => target['optional-dependencies'].get(one) ?? [])].flat()) {
        pending.add(next);
        followed += LINK_CHARACTERS;
      }
    }
  }
  return markersOf;
}

/** The part of a marker that a VM must evaluate; null if it does not hold on Linux. */
function narrow(marker: string, groups: readonly string[]): string | null {
  // uv names a conflicting extra or group `extra-7-project-NAME`, where 7 is the length of `project`.
  const stated = marker.replace(/\bextra (==|!=) '(?:extra|group)-\d+-[^']*'/g, (one, operator) => {
    const isChosen = groups.some((group) => one.endsWith(`-${group}'`));
    return `os_name ${operator} '${isChosen ? 'posix' : ''}'`;
  });
  // The processors of the job's machines are not known here.
  const holds = stated === '' || evaluateMarker(stated.replaceAll('platform_machine', 'unknown'), null);
  return holds === false ? null : holds ? '' : stated;
}

function requirementOf({ name, version, source }: Package): string | null {
  const { type, url = '', subdirectory } = source;
  const git = type === 'git' ? `${url}#${source.resolved_reference}` : source.git;
  if (indexOf({ source }) !== undefined) {
    return `${name}==${version}`;
  }
  // uv writes `https://host/repository?subdirectory=python&rev=main#COMMIT`.
  const folder = subdirectory ?? /[?&]subdirectory=([^&#]*)/.exec(git ?? '')?.[1];
  const place = git === undefined ? url : `git+${git.replace(/\?[^#]*/, '').replace('#', '@')}`;
  const address = `${place}${folder === undefined ? '' : `#subdirectory=${folder}`}`;
  return /^(?:git\+)?(?:https?|ssh|git):\S+$/.test(address) ? `${name} @ ${address}` : null;
}
