import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { invocations, traceIdOf } from '#shared/observability/invocation.ts';
import { logThrown } from '#shared/observability/log-thrown.ts';
import { createLogger, LINE_BYTES_MAX, type LogFields, type Severity } from '#shared/observability/logger.ts';
import { maskCredentials } from '#shared/package/scan/credential-patterns.ts';

type Line = Readonly<Record<string, unknown>> & { readonly message: string };

const OPTIONS = { mask: maskCredentials, projectId: 'p', service: 'api', release: 'r1' };
const LABELS = 'logging.googleapis.com/labels';
const TRACE = 'logging.googleapis.com/trace';

function linesOf(write: (logger: ReturnType<typeof createLogger>) => void): { lines: string[]; parsed: Line[] } {
  const lines: string[] = [];
  write(createLogger((line) => void lines.push(line), OPTIONS));
  return { lines, parsed: lines.map((line) => JSON.parse(line) as Line) };
}

const lineOf = (fields: LogFields, severity: Severity = 'INFO', message = 'm') =>
  linesOf((logger) => logger.log(severity, message, fields)).parsed[0];

/** Credentials, each with a part that must not be logged. */
const SECRETS: readonly (readonly [text: string, secret: string])[] = [
  ['Authorization: Basic dXNlcjpwYXNzd29yZA==', 'dXNlcjpw'],
  ['Bearer abcdefgh.ijkl-mnop', 'ijkl'],
  ['ya29.a0AfH6SMBx_y-Zz012', 'a0AfH6'],
  ['https://user:hunter22@example.org/x', 'hunter22'],
  ['https://hooks.slack.com/services/T0/B0/s3cretPath', 's3cretPath'],
  ['https://prod-01.westus.logic.azure.com:443/workflows/w0rk?sig=s3cretSig', 's3cretSig'],
  ['https://discord.com/api/webhooks/1/s3cretHook', 's3cretHook'],
  ['https://chat.googleapis.com/v1/spaces/A/messages?key=K&token=s3cretKey', 's3cretKey'],
  ['https://storage.googleapis.com/b/o?X-Goog-Signature=0a1b2c3d', '0a1b2c3d'],
  [`ghp_${'aB3'.repeat(12)}`, 'aB3aB3'],
  ['POST /token?client_secret=GOCSPX-s3cretClient&grant_type=refresh_token', 's3cretClient'],
  ['{"token_type":"Bearer","refresh_token": "s3cretRefresh"}', 's3cretRefresh'],
  ["aws_secret_access_key = 's3cretAws/K7MDENG'", 's3cretAws'],
  ['https://bucket.s3.amazonaws.com/o?X-Amz-Security-Token=s3cretSession', 's3cretSession'],
  ['host=db user=ada password=hunter22 dbname=jobs', 'hunter22'],
  [`eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJhYmMifQ.${'sIgn'.repeat(20)}`, 'sIgn'],
  [`-----BEGIN PRIVATE KEY-----\n${'MIIEvQ\n'.repeat(400)}-----END PRIVATE KEY-----`, 'MIIEvQ'],
];

const hostile = fc.oneof(
  fc.anything({ withBigInt: true, withDate: true, withTypedArray: true, withNullPrototype: true, withMap: true }),
  fc.constantFrom<unknown>(
    ...[new Date(Number.NaN), '\ud800', 'x\udc00', '\u0000'.repeat(9_000), 'é'.repeat(70_000), Symbol('s'), () => 1],
    ...[
      new Proxy({}, { ownKeys: () => [].at(9) ?? fail() }),
      { toJSON: fail },
      {
        get a() {
          return fail();
        },
      },
    ],
    ...[circular(), deep(1_000), Array.from({ length: 5_000 }, (_, index) => ({ index })), new Uint8Array(1e6)],
    ...[
      {
        toJSON() {
          return this;
        },
      },
      JSON.parse('{"__proto__":{"severity":"DEBUG"}}'),
      new Array(1e6),
    ],
  ),
  fc
    .tuple(fc.constantFrom(...SECRETS), fc.nat(9_000), fc.nat(9_000))
    .map(([[text], before, after]) => `${'a '.repeat(before)}"${text}" ${'b '.repeat(after)}`),
);

function fail(): never {
  throw new Error('unreadable');
}

function circular(): object {
  const value: Record<string, unknown> = { a: 1 };
  value.self = value;
  return value;
}

function deep(levels: number): object {
  return levels === 0 ? {} : { next: deep(levels - 1) };
}

const NAMES = [
  'severity',
  'message',
  'time',
  'timestamp',
  'httpRequest',
  'jobId',
  'kind',
  'stack_trace',
  LABELS,
  TRACE,
];

describe('a line of the log', () => {
  it('is one bounded, masked line of JSON in the format of Google, whatever is logged', () => {
    const name = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...NAMES, '__proto__', 'toJSON', '@type'));
    const fields = fc.dictionary(name, hostile, { maxKeys: 12 });
    const severity = fc.constantFrom<Severity>('DEBUG', 'INFO', 'WARNING', 'ERROR');
    const text = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(fields, fc.tuple(text, severity), hostile, (given, [message, level], thrown) => {
        const { lines, parsed } = linesOf((logger) => {
          invocations.run({ service: 's', fields: given }, () => logger.log(level, message, given));
          logThrown(logger, thrown);
          logThrown(logger, given);
        });
        expect(lines).toHaveLength(3);
        for (const [index, line] of lines.entries()) {
          expect(Buffer.byteLength(line)).toBeLessThanOrEqual(LINE_BYTES_MAX);
          expect(line).toSatisfy((text: string) => text.isWellFormed() && !/\n|\\ud[89a-f]/i.test(text));
          expect(SECRETS.filter(([, secret]) => line.includes(secret))).toEqual([]);
          const entry = parsed[index];
          expect(entry).toMatchObject({ severity: index === 0 ? level : 'ERROR', message: expect.any(String) });
          expect(entry?.[LABELS] ?? {}).toSatisfy(
            (labels: object) => Object.keys(labels).join() in { '': 1, job_id: 1 },
          );
        }
      }),
      { numRuns: 150 },
    );
  });

  it('does not contain a credential, wherever a long string is cut', () => {
    for (const [text, secret] of SECRETS) {
      for (const before of [0, 3_900, 3_999, 5_990, 14_100, 15_000]) {
        const long = `${'-'.repeat(before)} ${text} ${'-'.repeat(9_000)}`;
        expect(JSON.stringify(lineOf({ long }))).not.toContain(secret);
      }
      expect(lineOf({}, 'INFO', `before ${text} after`)?.message).toMatch(/^before .*\*\*\*.* after$/s);
    }
  });

  it('keeps both ends of a long string, says that it is truncated, and leaves room for what follows', () => {
    const line = lineOf({ long: `first ${'é'.repeat(1e6)} last`, more: 'x'.repeat(1e6), short: 'whole' });
    expect(line).toMatchObject({ isTruncated: true, short: 'whole' });
    expect(line?.long).toMatch(/^first é+…é+ last$/);
    expect(lineOf({ short: 'whole' })).not.toHaveProperty('isTruncated');
  });

  // With expressions that backtrack, each takes several seconds.
  it.each([
    ['the beginnings of tokens', Object.assign(new Error('many'), { errors: Array(9).fill('eyJ-'.repeat(5_000)) })],
    ['lines without text', new Error(`${'\n'.repeat(30_000)}x`)],
  ])('is written within a second, whatever an error repeats: %s', (_, error) => {
    const startedAt = performance.now();
    linesOf((logger) => logThrown(logger, error));
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  it('has the fields that Google interprets from the logger alone', () => {
    const given = Object.fromEntries(NAMES.map((name) => [name, { x: 1 }]));
    const plain = ['kind', 'stack_trace'];
    const renamed = NAMES.map((name) => [plain.includes(name) ? name : `field.${name}`, { x: 1 }] as const);
    expect(lineOf({ ...given, jobId: 'digits' })).toEqual({
      ...Object.fromEntries(renamed.filter(([name]) => name !== 'field.jobId')),
      ...{ severity: 'INFO', message: 'm', jobId: 'digits' },
      ...{ [LABELS]: { job_id: 'digits' }, [TRACE]: `projects/p/traces/${traceIdOf('digits')}` },
    });
  });

  it('has a label that is valid text, also if the job id that was submitted is not', () => {
    expect(lineOf({ jobId: `${'a'.repeat(127)}😀` })?.[LABELS]).toEqual({ job_id: `${'a'.repeat(127)}\ufffd` });
  });

  it('is about the job that it names, or else about that of the invocation', () => {
    const { parsed } = linesOf((logger) => {
      logger.log('INFO', 'outside');
      invocations.run({ service: 's', jobId: 'a', traceId: '1'.repeat(32) }, () => {
        logger.log('INFO', 'own');
        logger.log('INFO', 'other', { jobId: 'b' });
      });
      invocations.run({ service: 's', traceId: '1'.repeat(32) }, () => logger.log('INFO', 'none', { jobId: null }));
    });
    expect(parsed.map((line) => [line.jobId, line[LABELS], line[TRACE]])).toEqual([
      [undefined, undefined, undefined],
      ['a', { job_id: 'a' }, `projects/p/traces/${traceIdOf('a')}`],
      ['b', { job_id: 'b' }, `projects/p/traces/${traceIdOf('b')}`],
      [null, undefined, `projects/p/traces/${'1'.repeat(32)}`],
    ]);
  });
});

describe('what was thrown', () => {
  const loggedOf = (thrown: unknown) => linesOf((logger) => logThrown(logger, thrown)).parsed[0];
  const { stackTraceLimit } = Error;

  it('is an error with the stack that Error Reporting reads, its service and release', () => {
    expect(loggedOf(new TypeError('out of tune'))).toEqual({
      severity: 'ERROR',
      message: 'function failed',
      kind: 'error',
      stack_trace: expect.stringMatching(/^TypeError: out of tune\n {4}at .*logger\.test/),
      problem: 'out of tune',
      serviceContext: { service: 'api', version: 'r1' },
    });
  });

  it('has its frames after a message of a megabyte', () => {
    const stack = String(loggedOf(new Error('x'.repeat(1 << 20)))?.stack_trace);
    expect(stack.match(/\n {4}at /g)?.length).toBeGreaterThanOrEqual(Math.min(5, stackTraceLimit));
  });

  it.each([
    ['a string', 'out of tune', 'out of tune'],
    ['undefined', undefined, 'undefined'],
    ['an object', { message: 'plain' }, 'plain'],
    ['an object without a prototype', Object.create(null), 'An error whose text cannot be read.'],
    ['an error whose getters throw', hiding(), 'An error whose text cannot be read.'],
    ['an error without a stack', Object.assign(new Error('bare'), { stack: '' }), 'bare'],
  ])('is grouped by its text if it is %s', (_, thrown, text) => {
    expect(loggedOf(thrown)).toMatchObject({
      message: `function failed: ${text}`,
      problem: text,
      '@type': 'type.googleapis.com/google.devtools.clouderrorreporting.v1beta1.ReportedErrorEvent',
      serviceContext: { service: 'api' },
    });
  });

  it('has the errors behind it, each once', () => {
    const root = new Error('root');
    const both = new AggregateError([new Error('one', { cause: root }), 'two', root], 'two items');
    root.cause = both;
    const causes = loggedOf(both)?.causes as string[];
    expect(causes.map((cause) => cause.split('\n')[0])).toEqual(['Error: one', 'two', 'Error: root']);
  });
});

function hiding(): Error {
  const getter = { get: fail };
  return Object.defineProperties(new Error('hidden'), { message: getter, stack: getter, name: getter, cause: getter });
}
