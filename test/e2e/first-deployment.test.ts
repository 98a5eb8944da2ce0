import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DESTROY } from '#infra/tools/first-deployment/destroy.ts';
import { ROWS } from '#infra/tools/first-deployment/rows.ts';
import { type CloudUnderTest, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import { PROJECT, type Rule, startGoogleUnderTest } from '../support/first-deployment/google-under-test.ts';

const TOOL = fileURLToPath(new URL('../../infra/tools/first-deployment/first-deployment.ts', import.meta.url));
const ZONES = ['a', 'b', 'c', 'f'].map((letter) => `us-central1-${letter}`);
const RESUME_SECONDS_MAX = 3;

const only = (...ids: readonly string[]) =>
  ROWS.filter(({ id }) => ids.includes(id)).map((row) =>
    row.id === 'resume' ? { ...row, secondsMax: RESUME_SECONDS_MAX } : row,
  );

type Google = Awaited<ReturnType<typeof startGoogleUnderTest>>;

/** A pattern of the line of a row in the printed table. */
const lineOf = (id: string, result: string, seen: string) => new RegExp(`^\\| ${id} \\| ${result} \\|.*${seen}`, 'm');

describe('npm run first-deployment', () => {
  let cloud: CloudUnderTest;

  beforeAll(async () => {
    cloud = await startCloudUnderTest();
  });
  afterAll(() => cloud.stop());

  async function withGoogle(rules: readonly Rule[], test: (google: Google) => Promise<void>): Promise<void> {
    const google = await startGoogleUnderTest(cloud, rules);
    try {
      await test(google);
    } finally {
      await google.close();
    }
  }

  it('performs the rows of the first table of docs/first-deployment.md', async () => {
    const page = await readFile(new URL('../../docs/first-deployment.md', import.meta.url), 'utf8');
    const table = /^\| id \|.*\n\|[ |-]+\n((?:\|.*\n)+)/m.exec(page)?.[1] ?? '';
    const ids = [...table.matchAll(/^\| (\S+) \|/gm)].map(([, id]) => id);
    expect(ids).toEqual([...ROWS, DESTROY].map(({ id }) => id));
  });

  it('prints what a preempted job that does not resume has shown, and destroys everything all the same', async () => {
    const stockout: Rule = [
      /simulate-maintenance-event (\S+) /,
      async ([, vmName]) => {
        await Promise.all(ZONES.map((zone) => cloud.act(`/zones/${zone}:stockout`)));
        await cloud.act(`/vms/${vmName}:preempt`);
        return '';
      },
    ];
    await withGoogle([stockout], async (google) => {
      const { status, output } = await google.run(['--yes'], { rows: only('apply', 'preempt', 'resume', 'cancel') });

      expect(status).toBe(1);
      expect(output).toMatch(lineOf('preempt', 'passed', 'attempt 1 ended by PREEMPTED'));
      expect(output).toMatch(lineOf('resume', 'FAILED', `not seen within ${RESUME_SECONDS_MAX} s`));
      expect(output).toMatch(lineOf('cancel', 'passed', 'CANCELLED'));
      expect(output).toMatch(lineOf('destroy', 'passed', 'no bucket, network or VM'));
      expect(google.calls.some((call) => /^terraform .* destroy /.test(call))).toBe(true);
      expect(await google.listFolder()).not.toContain('main.tf.json');
    });
    await Promise.all(ZONES.map((zone) => cloud.act(`/zones/${zone}:restock`)));
  });

  it('recovers from a run that was killed while Terraform applied: the next one continues and destroys', async () => {
    const { promise: applying, resolve: onApply } = Promise.withResolvers<void>();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    let applies = 0;
    const hanging: Rule = [
      /^terraform .* apply /,
      async () => {
        applies += 1;
        onApply();
        await (applies === 1 && released);
        return 'Apply complete!\n';
      },
    ];
    await withGoogle([hanging], async (google) => {
      const { folder, environment } = google;
      const child = spawn(process.execPath, [TOOL, `--project=${PROJECT}`, '--yes'], { cwd: folder, env: environment });
      await applying;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      release();

      expect(await google.run(['--yes'], { rows: only('apply') })).toMatchObject({
        status: 0,
        output: expect.stringMatching(/^Continues the deployment[\s\S]*\| destroy \| passed /),
      });
      expect(await google.run(['--destroy'])).toMatchObject({
        status: 0,
        output: expect.stringMatching(/^Nothing to/),
      });
    });
  });

  it('destroys at once when it is interrupted, and interrupts what is running', async () => {
    const interruption = new AbortController();
    const { promise: never } = Promise.withResolvers<string>();
    const hanging: Rule = [
      /^terraform .* apply /,
      () => {
        interruption.abort();
        return never;
      },
    ];
    await withGoogle([hanging], async (google) => {
      const { output } = await google.run(['--yes'], { interrupted: interruption.signal });
      expect(output).toMatch(lineOf('apply', 'FAILED', 'interrupted'));
      expect(output).toMatch(lineOf('train', 'not reached', ''));
      expect(output).toMatch(lineOf('destroy', 'passed', ''));
    });
  });

  it('changes nothing in a project with another deployment, and none without a confirmation', () =>
    withGoogle([], async (google) => {
      const unanswered = /at most \$0\.0.*Nothing was changed: the question was not answered/s;
      expect(await google.run([])).toMatchObject({ status: 1, output: expect.stringMatching(unanswered) });
      expect(await google.run(['--webhook', 'http://example.com/'])).toMatchObject({ status: 2 });
      await withGoogle([[/storage buckets list/, () => 'first-project-dropforge-uploads\n']], async (other) => {
        const { status, output } = await other.run(['--yes']);
        expect(status).toBe(1);
        expect(output).toContain('a deployment that was not made from this folder (first-project-dropforge-uploads)');
        const destroyed = await other.run(['--destroy']);
        expect(destroyed.status).toBe(1);
        expect([...google.calls, ...other.calls].filter((call) => !/ list /.test(call))).toEqual([]);
      });
    }));
});
