import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CloudUnderTest, jobFile, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import { findPythons } from '../support/find-pythons.ts';

const RUN_MS_MAX = 120_000;
const TRY_FILES = new URL('../../infra/machine-image/try_files.py', import.meta.url);

/** One interpreter of each minor version of this machine, from 3.9. */
const pythons = new Map(findPythons().map(({ version, path }) => [version.replace(/\.\d+$/, ''), path]));
let cloud: CloudUnderTest;

beforeAll(async () => {
  const machineImages = [...pythons].map(([version, python]) => ({ name: `runtime-${version}`, python }));
  cloud = await startCloudUnderTest({ machineImages });
});

afterAll(() => cloud.stop());

it.each([...pythons.keys()])(
  'a job on Python %s uses files as programs do',
  async (version) => {
    const jobId = `files_on_${version.replace('.', '_')}`;
    const jobDir = `${cloud.endpoints.jobsBucket}/${jobId}`;
    // Without --job-dir, which the agent appends.
    const before = "import sys\nsys.argv.pop()\nprint('Python %d.%d' % sys.version_info[:2])\n";
    const args = ['local', `gs://${jobDir}/saved`, `/gcs/${jobDir}/more`];
    const program = `${before}${await readFile(TRY_FILES, 'utf8')}`;
    const job = jobFile(jobId, { args, runtimeVersion: version });
    await cloud.upload(`${jobId}.tar.gz`, await packProgram(program, job));
    const { state } = await cloud.awaitJob(jobId, undefined, RUN_MS_MAX);
    const lines = (await cloud.readLog(jobId)).map(({ text }) => text);
    expect(state, lines.slice(-40).join('\n')).toBe('SUCCEEDED');
    expect(lines).toContain(`Python ${version}`);
  },
  RUN_MS_MAX,
);
