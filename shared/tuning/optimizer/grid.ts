import type { Parameter } from '#shared/domain/study.ts';
import type { Values } from '#shared/tuning/trial.ts';
import { readDimension } from './dimension.ts';

/** The number of combinations of active values; Infinity if a parameter is continuous. */
export function gridSize(parameters: readonly Parameter[]): number {
  return parameters.reduce((product, parameter) => product * sizeOf(parameter), 1);
}

/** The combination with this index, in [0, gridSize): the last parameter changes fastest. */
export function gridValues(parameters: readonly Parameter[], index: number): Values {
  const values: Record<string, string | number> = {};
  let rest = index;
  for (const parameter of parameters.toReversed()) {
    const size = sizeOf(parameter);
    Object.assign(values, valuesAt(parameter, rest % size));
    rest = Math.floor(rest / size);
  }
  return values;
}

/** A value of the parameter that has children, with the children that it activates. */
type Branch = { readonly index: number; readonly children: readonly Parameter[]; readonly size: number };

function sizeOf(parameter: Parameter): number {
  const { count } = readDimension(parameter);
  const branches = listBranches(parameter);
  return branches.reduce((sum, { size }) => sum + size - 1, count);
}

function valuesAt(parameter: Parameter, index: number): Values {
  const { id, toValue, coordinateAt } = readDimension(parameter);
  let before = 0;
  for (const branch of listBranches(parameter)) {
    const offset = index - branch.index - before;
    if (offset < 0) {
      break;
    }
    if (offset < branch.size) {
      return { [id]: toValue(coordinateAt(branch.index)), ...gridValues(branch.children, offset) };
    }
    before += branch.size - 1;
  }
  return { [id]: toValue(coordinateAt(index - before)) };
}

/** In the order of their values. */
function listBranches(parameter: Parameter): Branch[] {
  const { toCoordinate, indexAt } = readDimension(parameter);
  const childrenByIndex = new Map<number, Parameter[]>();
  for (const child of parameter.children) {
    const coordinates = [...new Set(child.parentValues)].map(toCoordinate).filter((at) => !Number.isNaN(at));
    for (const index of coordinates.map(indexAt)) {
      childrenByIndex.set(index, [...(childrenByIndex.get(index) ?? []), child.parameter]);
    }
  }
  return [...childrenByIndex]
    .map(([index, children]) => ({ index, children, size: gridSize(children) }))
    .sort((a, b) => a.index - b.index);
}
