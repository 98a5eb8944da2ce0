import fc from 'fast-check';
import type { Parameter, ParameterSpace } from '#shared/domain/study.ts';
import type { FinishedTrial } from '#shared/tuning/optimizer/trial-data.ts';
import type { Values } from '#shared/tuning/trial.ts';

const bounds = fc
  .tuple(fc.double({ min: -1e308, max: 1e308, noNaN: true }), fc.double({ min: 0, max: 10, noNaN: true }))
  .map(([min, width]) => ({ min, max: min + width }));
const positiveBounds = fc
  .tuple(fc.double({ min: 1e-12, max: 1, noNaN: true }), fc.double({ min: 1, max: 1e6, noNaN: true }))
  .map(([min, factor]) => ({ min, max: min * factor }));
const range: fc.Arbitrary<ParameterSpace> = fc
  .oneof(bounds, positiveBounds, fc.constantFrom({ min: 3, max: 3 }, { min: -1e308, max: 1e308 }))
  .map(({ min, max }) => ({ kind: 'DOUBLE', min, max }));
const integers: fc.Arbitrary<ParameterSpace> = fc
  .tuple(fc.integer({ min: -20, max: 20 }), fc.constantFrom(0, 1, 3, 50, 1e9))
  .map(([min, width]) => ({ kind: 'INTEGER', min, max: min + width }));
const categories: fc.Arbitrary<ParameterSpace> = fc
  .uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', '1'), { minLength: 1 })
  .map((values) => ({ kind: 'CATEGORICAL', values }));
const lists: fc.Arbitrary<ParameterSpace> = fc
  .uniqueArray(fc.constantFrom(-3, 0, 0.001, 0.5, 1, 2, 100, 1e6), { minLength: 1 })
  .map((values) => ({ kind: 'DISCRETE', values: values.toSorted((a, b) => a - b) }));

export const finiteSpaces = fc.oneof(
  integers.filter((space) => space.kind === 'INTEGER' && space.max - space.min < 1e6),
  categories,
  lists,
);
export const anySpaces = fc.oneof(range, integers, categories, lists);

/** Trees of parameters. Names are unique, except for those of conditional parameters under different parent values. */
export function parameterTrees(spaces: fc.Arbitrary<ParameterSpace>): fc.Arbitrary<readonly Parameter[]> {
  return fc.array(tree(spaces, 2), { minLength: 1, maxLength: 4 }).map((parameters) => parameters.map(rename));
}

function tree(spaces: fc.Arbitrary<ParameterSpace>, depth: number): fc.Arbitrary<Parameter> {
  const scales = fc.constantFrom('NONE' as const, 'LINEAR' as const, 'LOG' as const, 'REVERSE_LOG' as const);
  return fc.tuple(spaces, scales).chain(([space, scale]) => {
    const parentValues = space.kind === 'DOUBLE' || depth === 0 ? [] : valuesOf(space).slice(0, 2);
    const children = parentValues.map((value) =>
      fc.option(tree(spaces, depth - 1), { nil: null }).map((parameter) => ({ value, parameter })),
    );
    return fc.tuple(...children).map((list) => ({
      id: 'p',
      space,
      scale,
      children: list.flatMap(({ value, parameter }) =>
        parameter === null ? [] : [{ parentValues: [value], parameter }],
      ),
    }));
  });
}

/** Siblings under different values share their name. */
function rename(parameter: Parameter, index: number): Parameter {
  const within = (id: string, { children, ...rest }: Parameter): Parameter => ({
    ...rest,
    id,
    children: children.map((child) => ({ ...child, parameter: within(`${id}-child`, child.parameter) })),
  });
  return within(`p${index}`, parameter);
}

/** Values of a finite space; at most the first 60 of a range. */
export function valuesOf(space: ParameterSpace): readonly (string | number)[] {
  if (space.kind === 'CATEGORICAL' || space.kind === 'DISCRETE') {
    return space.values;
  }
  return Array.from({ length: Math.min(60, space.max - space.min + 1) }, (_, index) => space.min + index);
}

/** Whether each active parameter has one of its values, and no other has one. */
export function areValid(parameters: readonly Parameter[], values: Values): boolean {
  const expected = new Set<string>();
  const check = (parameter: Parameter): boolean => {
    const value = values[parameter.id];
    expected.add(parameter.id);
    const active = parameter.children.filter(({ parentValues }) => value !== undefined && parentValues.includes(value));
    return value !== undefined && has(parameter.space, value) && active.every((child) => check(child.parameter));
  };
  return parameters.every(check) && Object.keys(values).every((id) => expected.has(id));
}

function has(space: ParameterSpace, value: string | number): boolean {
  if (space.kind === 'CATEGORICAL' || space.kind === 'DISCRETE') {
    return (space.values as readonly (string | number)[]).includes(value);
  }
  const isInside = typeof value === 'number' && value >= space.min && value <= space.max;
  return isInside && (space.kind === 'DOUBLE' || Number.isInteger(value));
}

export const oddObjectives: fc.Arbitrary<FinishedTrial['objective']> = fc.oneof(
  fc.constantFrom(null, 0, -0, 1, 1, 1e300, -1e300, Number.NaN, Infinity, Number.MIN_VALUE, Number.MAX_VALUE),
  fc.double(),
);
