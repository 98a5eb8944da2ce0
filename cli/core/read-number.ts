import type { Invocation } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** `isSeconds`: the value may have a unit, as in `90s`, `10m` and `2h`. */
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
  const [, digits = text, unit] = (isSeconds && /^(\d+) ?([smhd])$/.exec(text)) || [];
  const number = Number(digits) * SECONDS[(unit ?? 's') as keyof typeof SECONDS];
  if (!Number.isInteger(number) || number < 1 || number > max) {
    const kind = isSeconds ? 'a whole number of seconds, or 10m or 2h,' : 'a whole number';
    throw new UsageFailure(`--${name} must be ${kind} from 1 to ${max}, not '${text}'.`);
  }
  return number;
}
