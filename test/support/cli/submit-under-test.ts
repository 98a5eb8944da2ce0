import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import type { Report } from '../../../shared/protocol/report.ts';
import { TRAINER, tarGzOf } from '../package/build-archives.ts';
import { runCli, startTestCloud, type TestCloud, viewOf } from './test-cloud.ts';

/** The required flags of a job. */
export const PROGRAM = ['--module-name', 'trainer.task', '--packages', 'gs://libs/p.tar.gz'];

/** Starts a cloud that accepts jobs, and creates packages to submit, before each test of a file. */
export function startCloudForEachTest() {
  let startedCloud: TestCloud;
  let folder: string;
  const cloud = () => startedCloud;
  const work = () => folder;

  beforeEach(async () => {
    startedCloud = await startTestCloud();
    folder = join(startedCloud.dataDir, 'work');
    await mkdir(join(folder, 'trainer'), { recursive: true });
    await writeFile(join(folder, 'trainer', '__init__.py'), '');
    await writeFile(join(folder, 'trainer', 'task.py'), 'print(1)\n');
    await writeFile(join(folder, 'dep.tar.gz'), tarGzOf(TRAINER));
    answer({ verdict: 'ACCEPTED', job: viewOf('one', { state: 'QUEUED' }) });
  });
  afterEach(() => startedCloud.close());

  const submit = (...argv: string[]) =>
    runCli(['jobs', 'submit', 'training', ...argv], { dataDir: cloud().dataDir, cwd: work() });

  /** Writes a report with this verdict for every uploaded job file, as intake would. */
  function answer(report: Partial<Report>): void {
    cloud().onObject = ({ bucket, name }) => {
      if (name.endsWith('/job.yaml')) {
        const source = `gs://${bucket}/${name}`;
        const whole = { source, jobId: 'one', problems: [], warnings: [], job: null, ...report };
        void cloud().store.write({ bucket, name: `${name}.report.json` }, Buffer.from(JSON.stringify(whole)));
      }
    };
  }

  const listNames = async (bucket: string) =>
    (await cloud().store.list({ bucket, prefix: '', countMax: 100 })).map(({ name }) => name);

  return { cloud, work, submit, answer, listNames };
}
