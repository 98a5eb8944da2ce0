import type { Sparkline } from '#shared/protocol/answers.ts';

export const WIDTH = 64;
export const HEIGHT = 28;
/** Half of the stroke, which must not be cut off. */
const MARGIN = 2;

/** The path in the coordinates of the view box, to a tenth of a pixel. Numbers up to the largest ones do not overflow. */
export function pathOf({ positions, values }: Pick<Sparkline, 'positions' | 'values'>): string {
  const [left = 0, right = 0] = [positions[0], positions.at(-1)];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const points = values.map((value, at) => {
    const x = MARGIN + (WIDTH - 2 * MARGIN) * fractionOf(positions[at] ?? left, left, right);
    const y = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * fractionOf(value, low, high);
    return `${x.toFixed(1)} ${y.toFixed(1)}`;
  });
  return `M${points.join('L')}`;
}

function fractionOf(value: number, low: number, high: number): number {
  return low === high ? 0.5 : (value / 2 - low / 2) / (high / 2 - low / 2);
}
