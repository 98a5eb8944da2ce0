import Table from 'cli-table3';

const SIDES = ['top', 'bottom', 'left', 'mid', 'right'].flatMap((side) =>
  ['', '-mid', '-left', '-right'].map((end) => `${side}${end}`),
);
const NO_BORDERS = Object.fromEntries(SIDES.map((side) => [side, '']));

/** Formats columns without borders, so that tables can be processed with `awk`. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = new Table({
    head: [...head],
    chars: { ...NO_BORDERS, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  table.push(...rows.map((row) => [...row]));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}
