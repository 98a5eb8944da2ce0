import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildPackages } from '#cli/submit/build-packages.ts';
import { packFiles } from '#dashboard/screens/drop/pack-files.ts';
import { formatSentJob } from '#shared/protocol/job-text.ts';
import { jobViewSchema } from '#shared/protocol/job-view.ts';
import type { SubmissionVerdict } from '#shared/protocol/submission.ts';
import { handleSubmitMessage } from '#shared/use-cases/intake/handle-submit-message.ts';
import { handleUpload } from '#shared/use-cases/intake/handle-upload.ts';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { tarGzOf, zipOf } from '../../support/package/build-archives.ts';

type Files = Readonly<Record<string, string>>;

/** A package as it is dropped: a folder or a file to pack, or an archive. */
type Form = {
  readonly files?: Files;
  readonly archive?: { readonly name: string; readonly bytes: Uint8Array };
  readonly module: string;
  readonly style: string;
  readonly requirements: readonly string[];
  readonly warned?: readonly string[];
};

const PROGRAM: Files = { 'train.py': 'print(1)\n' };
const UV_LOCK = `version = 1
[[package]]
name = "mine"
source = { virtual = "." }
dependencies = [{ name = "six" }]
[[package]]
name = "six"
version = "1.16.0"
source = { registry = "https://pypi.org/simple" }
`;
const POETRY_LOCK = '[[package]]\nname = "six"\nversion = "1.16.0"\ngroups = ["main"]\n';
const GROUPS = '[dependency-groups]\ntrain = ["six"]\n[tool.uv]\ndefault-groups = ["train"]\n';
const ENVIRONMENT = 'dependencies: [numpy, { pip: [six==1.16.0] }]\n';
const SCRIPT = '# /// script\n# dependencies = ["six==1.16.0"]\n# ///\nprint(1)\n';
const SETUP = "from setuptools import setup\nsetup(name='mine', version='1', packages=['mine'])\n";

const entriesOf = (files: Files, folder = '') =>
  Object.entries(files).map(([path, data]) => ({ path: `${folder}${path}`, data }));

const WHEEL: Files = {
  'mine/__init__.py': '',
  'mine/task.py': 'print(1)\n',
  'mine-1.dist-info/METADATA': 'Metadata-Version: 2.1\nName: mine\nVersion: 1\nRequires-Dist: six\n',
  'mine-1.dist-info/WHEEL': 'Wheel-Version: 1.0\nTag: py3-none-any\n',
  'mine-1.dist-info/RECORD':
    'mine/__init__.py,,\nmine/task.py,,\nmine-1.dist-info/METADATA,,\nmine-1.dist-info/WHEEL,,\nmine-1.dist-info/RECORD,,\n',
};

const FORMS: Readonly<Record<string, Form>> = {
  'a folder': { files: PROGRAM, module: 'train', style: 'SOURCES', requirements: [] },
  'a tar of a folder': {
    archive: { name: 'mine.tar.gz', bytes: tarGzOf(entriesOf(PROGRAM, 'mine/')) },
    ...{ module: 'train', style: 'SOURCES', requirements: [] },
  },
  'a source distribution': {
    archive: {
      name: 'mine-1.tar.gz',
      bytes: tarGzOf(
        entriesOf(
          { 'PKG-INFO': 'Name: mine\n', 'setup.py': SETUP, 'mine/__init__.py': '', 'mine/task.py': '' },
          'mine-1/',
        ),
      ),
    },
    ...{ module: 'mine.task', style: 'PROJECT', requirements: [] },
  },
  'a wheel': {
    archive: { name: 'mine-1-py3-none-any.whl', bytes: zipOf(entriesOf(WHEEL)) },
    ...{ module: 'mine.task', style: 'WHEEL', requirements: [] },
  },
  'a single .py file': {
    files: { 'train.py': SCRIPT },
    module: 'train.py',
    style: 'SOURCES',
    requirements: ['six==1.16.0'],
  },
  'a folder in src layout': {
    files: { 'src/mine/__init__.py': '', 'src/mine/task.py': '', 'requirements.txt': 'six\n' },
    ...{ module: 'mine.task', style: 'SOURCES', requirements: [] },
  },
  'a folder with dependency groups': {
    files: { ...PROGRAM, 'pyproject.toml': GROUPS },
    ...{ module: 'train', style: 'SOURCES', requirements: ['six'] },
  },
  'a folder with a uv.lock': {
    files: { ...PROGRAM, 'uv.lock': UV_LOCK },
    ...{ module: 'train', style: 'SOURCES', requirements: ['six==1.16.0'] },
  },
  'a folder with a poetry.lock': {
    files: { ...PROGRAM, 'poetry.lock': POETRY_LOCK },
    ...{ module: 'train', style: 'SOURCES', requirements: ['six==1.16.0'] },
  },
  'a script with inline metadata': {
    files: { 'train.py': SCRIPT, 'other.py': '' },
    ...{ module: 'train.py', style: 'SOURCES', requirements: ['six==1.16.0'] },
  },
  'a folder with an environment.yml': {
    files: { ...PROGRAM, 'environment.yml': ENVIRONMENT },
    ...{ module: 'train', style: 'SOURCES', requirements: ['six==1.16.0'], warned: ['DEPENDENCIES_NOT_INSTALLED'] },
  },
};

let api: ApiUnderTest;
let folder: string;
beforeEach(async () => {
  api = await openApiUnderTest();
  folder = await mkdtemp(join(tmpdir(), 'dropforge-ways-'));
});
afterEach(async () => {
  await api.close();
  await rm(folder, { recursive: true });
});

async function put(name: string, bytes: Uint8Array | string) {
  const info = await api.objects.write({ bucket: 'uploads', name }, Buffer.from(bytes));
  return typeof info === 'string' ? expect.fail(info) : info;
}

const jobFileOf = ({ module }: Form, id: string, name: string) =>
  `name: ${id}\nmodule: ${module}\nmachine: n1-standard-4\npackages: [${name}]\n`;

/** The archive that `dropforge jobs submit --package-path`, and below the page, makes of a form. */
async function packForCli({ files = {}, archive }: Form) {
  const all = archive === undefined ? Object.entries(files) : [[archive.name, archive.bytes] as const];
  for (const [path, content] of all) {
    await mkdir(join(folder, 'mine', dirname(path)), { recursive: true });
    await writeFile(join(folder, 'mine', path), content);
  }
  const [only, ...others] = all;
  const path = others.length === 0 && only !== undefined ? join(folder, 'mine', only[0]) : join(folder, 'mine');
  const [built] = await buildPackages([{ kind: 'FOLDER', path }]);
  return { name: built?.fileName ?? '', bytes: built?.bytes ?? new Uint8Array() };
}

async function packForPage({ files = {}, archive }: Form) {
  const entries = Object.entries(files).map(([path, text]) => ({ path, content: new Blob([text]) }));
  return archive ?? { name: 'mine.tar.gz', bytes: await (await packFiles(entries)).bytes() };
}

const WAYS: Readonly<Record<string, (form: Form) => Promise<unknown>>> = {
  async bucket(form) {
    const { name, bytes } = await packForPage(form);
    await put(name, bytes);
    return handleUpload(api.ports, await put('job.yaml', jobFileOf(form, 'bucket', name)), 1_000);
  },
  async CLI(form) {
    const { name, bytes } = await packForCli(form);
    await put(`packages/${name}`, bytes);
    const jobFile = jobFileOf(form, 'CLI', `gs://uploads/packages/${name}`);
    const sent = formatSentJob({ jobFile, fileName: 'job.yaml', command: 'jobs submit training', flags: [] });
    return handleUpload(api.ports, await put('CLI/job.yaml', sent), 1_000);
  },
  async page(form) {
    const { name, bytes } = await packForPage(form);
    const headers = { 'content-type': 'application/octet-stream' };
    await api.request('/v1/uploads/a0b1c2d3e4f5a6b7/parts/1', { method: 'PUT', headers, body: Buffer.from(bytes) });
    const given = { fileName: name, partCount: 1, jobId: 'page', jobFile: jobFileOf(form, 'page', name) };
    const { body } = await api.post('/v1/uploads/a0b1c2d3e4f5a6b7:validate', given);
    const { warnings } = body as SubmissionVerdict;
    expect(warnings.map(({ code }) => code)).toEqual(form.warned ?? []);
    return api.post('/v1/uploads/a0b1c2d3e4f5a6b7:start', given);
  },
  async message(form) {
    const { name, bytes } = await packForPage(form);
    await put(name, bytes);
    const data = Buffer.from(jobFileOf(form, 'message', `gs://uploads/${name}`));
    return handleSubmitMessage(api.ports, { messageId: 'm1', data }, 1_000);
  },
};

describe.each(Object.entries(FORMS))('%s', (_, form) => {
  it.each(Object.keys(WAYS))('is installed alike by way of: %s', async (way) => {
    await WAYS[way]?.(form);
    const job = (await api.ports.jobs.read(way))?.record;
    const layout = job?.packages[0]?.layouts?.[0]?.layout;
    expect({ style: layout?.style, requirements: layout?.requirements }).toEqual({
      style: form.style,
      requirements: form.requirements,
    });
    expect(job?.warnings.map(({ code }) => code)).toEqual(form.warned ?? []);
  });
});

const GIT = { commit: 'a'.repeat(40), remote: 'https://github.com/ada/digits.git', isDirty: true };

describe('the commit of a submission', () => {
  const jobFile = 'name: one\nmodule: train\nmachine: n1-standard-4\npackages: [gs://uploads/mine.tar.gz]\n';
  const submit = { jobFile, fileName: 'job.yaml', command: 'jobs submit training', flags: [] };
  const sources: Readonly<Record<string, (git: unknown) => Promise<unknown>>> = {
    upload: async (git) =>
      handleUpload(api.ports, await put('one/job.yaml', JSON.stringify({ ...submit, git })), 1_000),
    message: (git) =>
      handleSubmitMessage(api.ports, { messageId: 'm1', data: Buffer.from(JSON.stringify({ ...submit, git })) }, 1_000),
    request: (git) => api.post('/v1/jobs', { ...submit, jobId: 'one', git }),
  };
  beforeEach(() => put('mine.tar.gz', tarGzOf(entriesOf(PROGRAM))));

  it.each(Object.keys(sources))('is recorded, and shown: %s', async (way) => {
    await sources[way]?.(GIT);
    const job = await api.request('/v1/jobs/one');
    expect(jobViewSchema.parse(await job.json()).git).toEqual(GIT);
  });

  it.each([
    ['https://ada:token@example.com/digits.git'],
    ['javascript:alert(1)'],
    ['/home/ada/digits'],
    ['https://example.com/\u001b[31m'],
    [`https://example.com/${'a'.repeat(400)}`],
  ])('has no remote that is not the address of a server without a password: %s', async (remote) => {
    await sources.message?.({ ...GIT, remote });
    expect((await api.ports.jobs.read('one'))?.record.source.git).toEqual({ ...GIT, remote: null });
  });

  it.each([[{ ...GIT, commit: 'HEAD' }], ['main'], [{}]])('is not recorded if it is not one: %j', async (git) => {
    await sources.message?.(git);
    expect((await api.ports.jobs.read('one'))?.record.source.git).toBeNull();
  });
});
