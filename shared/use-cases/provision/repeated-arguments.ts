import type { VmConfig } from '#shared/protocol/vm-config.ts';

type Repeated = VmConfig['repeatedArguments'][number];
type Path = Repeated['at'];
type List = { readonly path: Path; readonly values: readonly string[] };

/** The keys of lists of arguments in a TrainingInput and in a CustomJobSpec. */
const KEYS: readonly Path[number][] = ['args', 'command', 'container_args', 'container_command'];

/**
 * Returns the configuration with each list of arguments once. A list that is equal to an earlier one, or to its
 * beginning or end, is empty where it is repeated, and `repeatedArguments` says from where the agent copies it.
 */
export function withoutRepetitions(config: Omit<VmConfig, 'repeatedArguments'>): VmConfig {
  const { spec, container } = config;
  const known: List[] = [
    { path: ['spec', 'args'], values: spec.args },
    { path: ['container', 'argv'], values: container?.argv ?? [] },
  ];
  const repeatedArguments: Repeated[] = [];

  function visit(value: unknown, at: Path): unknown {
    if (isArguments(value, at)) {
      return replace({ path: at, values: value });
    }
    if (Array.isArray(value)) {
      return value.map((one, index) => visit(one, [...at, index]));
    }
    return isMapping(value) ? visitAll(value, at) : value;
  }

  function visitAll(mapping: Readonly<Record<string, unknown>>, at: Path): Record<string, unknown> {
    return Object.fromEntries(Object.entries(mapping).map(([key, value]) => [key, visit(value, [...at, key])]));
  }

  function replace(list: List): readonly string[] {
    const repeated = findRepeated(list, known);
    if (repeated === undefined) {
      known.push(list);
      return list.values;
    }
    repeatedArguments.push(repeated);
    return [];
  }

  const trainingInput = visitAll(spec.trainingInput, ['spec', 'trainingInput']);
  const clusterSpec = spec.clusterSpec && {
    ...spec.clusterSpec,
    job: visitAll(spec.clusterSpec.job, ['spec', 'clusterSpec', 'job']),
  };
  return { ...config, spec: { ...spec, trainingInput, clusterSpec }, repeatedArguments };
}

function isArguments(value: unknown, at: Path): value is readonly string[] {
  const [key = ''] = at.slice(-1);
  return KEYS.includes(key) && Array.isArray(value) && value.length > 0;
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function findRepeated({ path: at, values }: List, known: readonly List[]): Repeated | undefined {
  for (const { path: of, values: earlier } of known) {
    for (const start of [0, earlier.length - values.length]) {
      if (start >= 0 && values.every((value, index) => value === earlier[start + index])) {
        return { at, of, start, end: start + values.length };
      }
    }
  }
  return undefined;
}
