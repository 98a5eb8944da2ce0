import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { stringify } from 'yaml';

const FIXTURES = new URL('../fixtures/job-files/', import.meta.url);

const fixtures = readdirSync(FIXTURES)
  .sort()
  .map((name) => readFileSync(new URL(name, FIXTURES)));

/** Field names of all dialects from the fixtures, and some unknown ones. */
const fieldNames = [
  ...new Set(fixtures.flatMap((bytes) => bytes.toString('utf8').match(/(?<=^[ -]*)"?[A-Za-z]\w*(?="?:)/gm) ?? [])),
].map((name) => name.replaceAll('"', ''));

/** The values of these fields. */
const values = [
  ...new Set(fixtures.flatMap((bytes) => bytes.toString('utf8').match(/(?<=: |- )[^\s#[{][^#\n]{0,60}$/gm) ?? [])),
];

const text = fc.oneof(
  fc.constantFrom(...values),
  fc.constantFrom(
    'gs://b/p',
    `\${X}`,
    '<bucket>',
    'MACHINE_TYPE',
    'n1-standard-8',
    'T4',
    '2h',
    '3600s',
    '-1',
    '1e400',
    '',
  ),
  fc.string({ maxLength: 12 }),
);

const scalar = fc.oneof(
  text,
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.integer({ min: 0, max: 9 }),
);

const fieldName = fc.oneof(
  { arbitrary: fc.constantFrom(...fieldNames), weight: 20 },
  { arbitrary: fc.string({ maxLength: 8 }), weight: 1 },
);

/** Arbitrarily nested mappings of known names. */
const { mapping } = fc.letrec<{ mapping: unknown; value: unknown }>((tie) => ({
  mapping: fc.dictionary(fieldName, tie('value'), { maxKeys: 8, noNullPrototype: true }),
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    tie('mapping'),
  ),
}));

const structured = fc
  .tuple(mapping, fc.boolean())
  .map(([value, isJson]) => (isJson ? JSON.stringify(value) : stringify(value)));

/** A fixture with one line removed, repeated or changed, as by a typo. */
const mistyped = fc
  .tuple(
    fc.constantFrom(...fixtures),
    fc.nat(),
    fc.constantFrom('drop', 'repeat', 'indent', 'value', 'name'),
    scalar,
    fieldName,
  )
  .map(([bytes, offset, typo, value, name]) => {
    const lines = bytes.toString('utf8').split('\n');
    const index = offset % lines.length;
    const line = lines[index] ?? '';
    const changed = {
      drop: [],
      repeat: [line, line],
      indent: [`  ${line}`],
      value: [line.replace(/: .*$/, `: ${JSON.stringify(value)}`)],
      name: [line.replace(/[A-Za-z]\w*(?=:)/, name)],
    }[typo];
    return [...lines.slice(0, index), ...changed, ...lines.slice(index + 1)].join('\n');
  });

const broken = fc
  .tuple(fc.constantFrom(...fixtures), fc.uint8Array({ minLength: 1, maxLength: 8 }), fc.nat())
  .map(([bytes, noise, offset]) => {
    const at = offset % (bytes.length + 1);
    return Uint8Array.from([...bytes.subarray(0, at), ...noise, ...bytes.subarray(at + (offset % 3))]);
  });

/** Job files from almost valid to arbitrary bytes. */
export const anyJobFile: fc.Arbitrary<string | Uint8Array> = fc.oneof(
  { arbitrary: structured, weight: 5 },
  { arbitrary: mistyped, weight: 5 },
  { arbitrary: broken, weight: 2 },
  { arbitrary: fc.string({ unit: 'binary', maxLength: 200 }), weight: 1 },
  { arbitrary: fc.uint8Array({ maxLength: 200 }), weight: 1 },
);
