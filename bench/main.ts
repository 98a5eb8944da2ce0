import Table from 'cli-table3';
import { Argument, Command, Option } from 'commander';
import type { BenchRow } from './bench-row.ts';
import { BENCHES } from './benches.ts';

const HEAD = ['bench', 'measured', 'floor', 'ratio', 'goal', ''];
const COLUMN_WIDTHS = [51, 18, 18, 9, 30, 14];

/** Draws one line of cells, each of a fixed width, so that rows can be printed before the next is measured. */
function drawLine(cells: readonly string[]): string {
  const table = new Table({
    colWidths: COLUMN_WIDTHS,
    wordWrap: true,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 1 },
    chars: Object.fromEntries(
      ['top', 'bottom', 'left', 'right'].flatMap((side) =>
        ['', '-mid', '-left', '-right'].map((part) => [`${side}${part}`, '']),
      ),
    ),
  });
  table.push([...cells]);
  return table
    .toString()
    .split('\n')
    .map((line) => line.replaceAll('│', ' ').trimEnd())
    .join('\n');
}

function cellsOf({ name, measured, floor, ratio, goal, isMet }: BenchRow): readonly string[] {
  return [name, measured, floor, ratio.toFixed(2), goal, isMet === null ? 'inconclusive' : isMet ? 'met' : 'missed'];
}

/** Prints each row as soon as it is measured; as JSON, one array at the end. */
async function run(names: readonly string[], format: string): Promise<void> {
  const rows: BenchRow[] = [];
  const print = (text: string) => process.stdout.write(`${text}\n`);
  if (format === 'text') {
    print(drawLine(HEAD));
  }
  for (const [name, { measure }] of Object.entries(BENCHES)) {
    for await (const row of names.length === 0 || names.includes(name) ? await measure(process.env) : []) {
      rows.push(row);
      if (format === 'text') {
        print(drawLine(cellsOf(row)));
      }
    }
  }
  if (format === 'json') {
    print(JSON.stringify(rows));
  }
}

function list(): void {
  const width = Math.max(...Object.keys(BENCHES).map(({ length }) => length));
  for (const [name, { what }] of Object.entries(BENCHES)) {
    process.stdout.write(`${name.padEnd(width)}  ${what}\n`);
  }
}

type Options = { readonly format: string; readonly list?: true };

await new Command('bench')
  .description(
    'Measures the goals of the design, each next to its floor. A missed goal is reported, but is not a failure.',
  )
  .addArgument(new Argument('[benches...]', 'benchmarks to run (default: all)').choices(Object.keys(BENCHES)))
  .addOption(new Option('--format <FORMAT>', 'output format').choices(['text', 'json']).default('text'))
  .option('--list', 'print the names of the benchmarks and what they measure')
  .action((names: readonly string[], options: Options) => (options.list ? list() : run(names, options.format)))
  .parseAsync();
