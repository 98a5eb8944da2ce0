import type { Invocation } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';

/** `isSeconds`: the value may end with `s`. */
type Range = { readonly max: number; readonly isSeconds?: boolean };

/** Reads a flag as a whole number from 1; undefined if it is not set. Throws UsageFailure for any other value. */
export function readNumber(
  { flag }: Pick<Invocation, 'flag'>,
  name: string,
  { max, isSeconds = false }: Range,
): number | undefined {
  const text = flag(name);
  if (text === undefined) {
    return undefined;
  }
  const number = Number(isSeconds ? text.replace(/s$/, '') : text);
  if (!Number.isInteger(number) || number < 1 || number > max) {
    const kind = isSeconds ? 'a whole number of seconds' : 'a whole number';
    throw new UsageFailure(`--${name} must be ${kind} from 1 to ${max}, not '${text}'.`);
  }
  return number;
}
