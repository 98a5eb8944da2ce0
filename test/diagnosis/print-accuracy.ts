import { LABELS } from '#shared/diagnosis/rules/labels.ts';
import { readLabeledLogs } from './labeled-logs.ts';
import { type Accuracy, measureAccuracy, NONE, type Verdict } from './measure-accuracy.ts';

const SHOWN_CHARACTERS_MAX = 160;

const files = process.argv.slice(2);
if (files.length === 0) {
  process.stderr.write('Usage: node test/diagnosis/print-accuracy.ts FILE.jsonl…\n');
  process.exitCode = 2;
}
for (const file of files) {
  try {
    const { rows, skipped } = readLabeledLogs(file);
    if (rows.length === 0) {
      fail(`${file} has no line of JSON with a label and a text (${skipped} lines skipped).`);
    } else {
      process.stdout.write(`${file}\n${describe(measureAccuracy(rows), skipped)}\n`);
    }
  } catch (error) {
    fail(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

function fail(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}

function describe({ verdicts, wrong, falseAlarms, fraction }: Accuracy, skipped: number): string {
  const benign = verdicts.filter(({ label }) => label === NONE).length;
  const times = verdicts.map(({ ms }) => ms).sort((a, b) => a - b);
  const unknown = [...new Set(verdicts.map(({ label }) => label))].filter(
    (label) => !(label in LABELS) && label !== NONE,
  );
  return [
    `${verdicts.length - wrong.length} of ${verdicts.length} right (${(100 * fraction).toFixed(1)} %), ${falseAlarms.length} false alarms in ${benign} benign logs, ${skipped} lines skipped`,
    `ms per log: p50 ${quantile(times, 0.5)}, p99 ${quantile(times, 0.99)}, max ${quantile(times, 1)}`,
    ...(unknown.length === 0 ? [] : [`labels that no rule has: ${unknown.join(', ')}`]),
    ...describeLabels(verdicts),
    ...wrong.map(
      ({ id, label, got, line, text }) => `  wrong ${id}: expected ${label}, got ${got}: ${shorten(line || text)}`,
    ),
  ].join('\n');
}

function describeLabels(verdicts: readonly Verdict[]): readonly string[] {
  const labels = [...new Set(verdicts.flatMap(({ label, got }) => [label, got]))].sort();
  return labels.map((label) => {
    const expected = verdicts.filter((each) => each.label === label);
    const right = expected.filter(({ got }) => got === label).length;
    const wrongly = verdicts.filter((each) => each.got === label && each.label !== label).length;
    return `  ${label.padEnd(28)} ${String(right).padStart(3)} of ${String(expected.length).padStart(3)} right, ${wrongly} wrongly`;
  });
}

function quantile(sorted: readonly number[], fraction: number): string {
  return (sorted[Math.min(sorted.length - 1, Math.floor(fraction * sorted.length))] ?? 0).toFixed(2);
}

function shorten(text: string): string {
  return JSON.stringify(text.trim().slice(0, SHOWN_CHARACTERS_MAX));
}
