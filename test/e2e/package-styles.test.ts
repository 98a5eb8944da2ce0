import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CloudUnderTest, packFiles, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest();
});

afterAll(() => cloud.stop());

/** Programs as people write them, without a word of Dropforge, and the line that each prints if it runs as written. */
const PACKAGES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  flat_modules: {
    'mine/job.yaml': 'name: flat_modules\nmodule: train\n',
    'mine/train.py': 'import model\nprint("runs", open("config/rate.txt").read(), model.SIZE)\n',
    'mine/model.py': 'SIZE = 3\n',
    'mine/config/rate.txt': '0.1',
  },
  script_with_files_beside: {
    'gpt/job.yaml': 'name: script_with_files_beside\nmodule: train.py\nargs: [config/tiny.py]\n',
    'gpt/train.py': 'SIZE = 1\nRATE = ""\nexec(open("configurator.py").read())\nprint("runs", RATE, SIZE)\n',
    'gpt/configurator.py': 'import sys\nexec(open(sys.argv[1]).read())\n',
    'gpt/config/tiny.py': 'SIZE = 3\nRATE = "0.1"\n',
  },
  script_below_the_root: {
    'repo/job.yaml': 'name: script_below_the_root\nmodule: src/micro/train-all.py\nargs: [conf/rate.txt]\n',
    'repo/src/micro/train-all.py':
      'import engine, sys\nprint("runs", open(sys.argv[1]).read(), engine.SIZE, open("names.txt").read())\n',
    'repo/src/micro/engine.py': 'SIZE = 3\n',
    'repo/src/micro/names.txt': '',
    'repo/conf/rate.txt': '0.1',
  },
  folder_without_init: {
    'trainer/job.yaml': 'name: folder_without_init\nmodule: trainer.task\n',
    'trainer/task.py': 'from trainer import model\nprint("runs 0.1", model.SIZE)\n',
    'trainer/model.py': 'SIZE = 3\n',
  },
  init_file_beside_setup: {
    'p/job.yaml': 'name: init_file_beside_setup\nmodule: trainer.task\n',
    'p/__init__.py': '',
    'p/setup.py': "from setuptools import setup\nsetup(name='trainer', version='1', packages=['trainer'])\n",
    'p/trainer/__init__.py': '',
    'p/trainer/task.py': 'print("runs 0.1 3")\n',
  },
  package_that_setup_leaves_out: {
    'p/job.yaml': 'name: package_that_setup_leaves_out\nmodule: trainer.task\n',
    'p/setup.py':
      "from setuptools import find_packages, setup\nsetup(name='t', version='1', packages=find_packages())\n",
    'p/trainer/task.py': 'from trainer.model import SIZE\nprint("runs 0.1", SIZE)\n',
    'p/trainer/model.py': 'SIZE = 3\n',
  },
};

it('programs of every style run as they are, in the directory that they expect', async () => {
  const jobs = Object.keys(PACKAGES);
  for (const [job, files] of Object.entries(PACKAGES)) {
    await cloud.upload(`${job}.tar.gz`, await packFiles(files));
  }
  for (const job of jobs) {
    expect(await cloud.awaitJob(job), job).toMatchObject({ state: 'SUCCEEDED' });
    const printed = (await cloud.readLog(job)).map(({ text }) => text);
    expect(printed, job).toContainEqual(expect.stringMatching(/^runs 0\.1 3/));
  }
});

it('a script whose paths are right from its own folder is named in report and log, and runs there with workdir', async () => {
  const files = {
    'repo/src/train.py': 'print("runs", open("../data/rate.txt").read())\n',
    'repo/data/rate.txt': '0.1',
  };
  const line = 'repo/src/train.py, line 1, names "../data/rate.txt"';
  for (const [job, workdir] of [
    ['misplaced', ''],
    ['placed', 'workdir: src\n'],
  ] as const) {
    const jobFile = { 'repo/job.yaml': `name: ${job}\nmodule: src/train.py\n${workdir}` };
    await cloud.upload(`${job}.tar.gz`, await packFiles({ ...files, ...jobFile }));
  }

  expect(await cloud.awaitJob('misplaced')).toMatchObject({ state: 'FAILED' });
  const { warnings } = await cloud.awaitReport('misplaced.tar.gz.report.json');
  expect(warnings).toMatchObject([{ code: 'PATH_FROM_SCRIPT', message: expect.stringContaining(line) }]);
  expect((await cloud.readLog('misplaced')).map(({ text }) => text)).toContainEqual(expect.stringContaining(line));
  expect(await cloud.awaitJob('placed')).toMatchObject({ state: 'SUCCEEDED', warnings: [{ code: 'NOTHING_SAVED' }] });
});

it('the output of a program that runs in its own folder is saved', async () => {
  const program = 'open("gs://dropforge-local-jobs/own_folder/model.txt", "w").write("m")\n';
  const files = { 'job.yaml': 'name: own_folder\nmodule: train\n', 'train.py': program, 'gs:/x.txt': '' };
  await cloud.upload('own_folder.tar.gz', await packFiles(files));
  expect(await cloud.awaitJob('own_folder')).toMatchObject({ state: 'SUCCEEDED' });
  expect(await cloud.readObject('dropforge-local-jobs', 'own_folder/model.txt')).toBe('m');
});

it('requirements beside the code are installed, and a missing one is the cause', async () => {
  const program = { 'train.py': 'print(1)\n' };
  const listed = { 'requirements.txt': 'dropforge-no-such-package==1.0  # pinned\n' };
  const pyproject = {
    'pyproject.toml': '[project]\nname = "p"\nversion = "0"\ndependencies = ["dropforge-no-such==2"]\n',
  };
  await cloud.upload(
    'listed.tar.gz',
    await packFiles({ 'job.yaml': 'name: listed\nmodule: train\n', ...program, ...listed }),
  );
  await cloud.upload(
    'peps.tar.gz',
    await packFiles({ 'job.yaml': 'name: peps\nmodule: train\n', ...program, ...pyproject }),
  );
  const inline = '# /// script\n# dependencies = ["dropforge-no-such==3"]\n# ///\nprint(1)\n';
  await cloud.upload(
    'inline.tar.gz',
    await packFiles({ 'job.yaml': 'name: inline\nmodule: train.py\n', 'train.py': inline }),
  );
  for (const [job, missing] of [
    ['inline', 'dropforge-no-such==3'],
    ['listed', 'dropforge-no-such-package==1.0'],
    ['peps', 'dropforge-no-such==2'],
  ] as const) {
    const { state, cause } = await cloud.awaitJob(job);
    expect([state, cause?.code, cause?.message]).toEqual([
      'FAILED',
      'INSTALL_FAILED',
      expect.stringContaining(missing),
    ]);
  }
});

it('a single file and its requirements are packages if a job file names them, in any order', async () => {
  await cloud.upload('single/requirements.txt', '# nothing\n');
  await cloud.upload('single/job.yaml', 'name: single\nmodule: train\npackages: [train.py, requirements.txt]\n');
  await cloud.upload('single/train.py', 'print("runs alone")\n');
  expect(await cloud.awaitJob('single')).toMatchObject({ state: 'SUCCEEDED' });
  expect(JSON.stringify(await cloud.readLog('single'))).toContain('runs alone');
});

it('a module that is not in the package is rejected with the nearest name, before there is a VM', async () => {
  const files = { 'job.yaml': 'name: misnamed\nmodule: train\n', 'mine/train.py': '' };
  await cloud.upload('misnamed.tar.gz', await packFiles(files));
  expect(await cloud.awaitReport('misnamed.tar.gz.report.json')).toMatchObject({
    verdict: 'REFUSED',
    problems: [{ code: 'MODULE_NOT_FOUND', message: expect.stringContaining('Similar names: mine.train.') }],
  });
});
