import { describe, expect, it } from 'vitest';
import type { JobDraft, ProgramDraft } from '#shared/job-file/draft/job-draft.ts';
import { CONTEXT } from '../../support/job-file/context.ts';
import { listed, located } from '../../support/job-file/located.ts';
import {
  CONTAINER,
  check,
  contained,
  IMAGE,
  jobOf,
  NONE,
  PYTHON,
  packaged,
} from '../../support/job-file/program-drafts.ts';

describe('a Python package', () => {
  it('runs on all roles by default', () => {
    expect(check(jobOf({ master: packaged(), worker: {} }))).toEqual({
      programs: { program: PYTHON, ofRole: NONE },
      codes: [],
    });
  });

  it('defaults to the context’s package and module', () => {
    const defaults = { ...CONTEXT.defaults, packageUris: ['gs://up/a.whl'], pythonModule: 'found.task' };
    const program = { ...PYTHON, packageUris: ['gs://up/a.whl'], module: 'found.task' };
    expect(check(jobOf({ master: { packageUris: [] } }), { ...CONTEXT, defaults }).programs?.program).toEqual(program);
  });

  it.each([
    ['ai-platform', 'trainingInput.packageUris', 'trainingInput.pythonModule'],
    ['dropforge', 'packages', 'module'],
  ] as const)('is missed under its names in %s', (dialect, packages, module) => {
    const codes = [`MISSING_FIELD ${packages}`, `MISSING_FIELD ${module}`];
    expect(check(jobOf({}, { dialect }))).toEqual({ programs: null, codes });
  });

  it.each([
    ['gs://bkt/a.whl', 'gs://bkt/a.whl'],
    ['dist/a.zip', 'gs://uploads/folder/dist/a.zip'],
    ['./dist/../a.tgz', 'gs://uploads/folder/a.tgz'],
  ])('%s resolves to %s', (written, uri) => {
    expect(check(jobOf({ master: packaged([written]) })).programs?.program).toMatchObject({ packageUris: [uri] });
  });

  it('may have a URI with two consecutive slashes, with a warning', () => {
    const { programs, codes } = check(jobOf({ master: packaged(['gs://bkt//t.whl']) }));
    expect(programs?.program).toMatchObject({ packageUris: ['gs://bkt//t.whl'] });
    expect(codes).toEqual(['EMPTY_PATH_PART packageUris[0]']);
  });

  it.each([
    ['gs://bkt/t.exe', 'INVALID_PACKAGE_URI'],
    ['gs://bkt/a.whl, gs://bkt/t.whl', 'INVALID_PACKAGE_URI'],
    ['https://example.com/t.whl', 'INVALID_PACKAGE_URI'],
    ['../t.whl', 'INVALID_PACKAGE_URI'],
    ['/t.whl', 'INVALID_PACKAGE_URI'],
    ['gs://bkt/../t.whl', 'INVALID_PACKAGE_URI'],
    ['gs://{BUCKET}/t.whl', 'PLACEHOLDER'],
    ['gs://bkt/$NAME.whl', 'PLACEHOLDER'],
    ['gs://MY_BUCKET/t.whl', 'PLACEHOLDER'],
  ])('rejects %s: %s', (uri, code) => {
    expect(check(jobOf({ master: packaged([uri]) }))).toEqual({ programs: null, codes: [`${code} packageUris[0]`] });
  });

  it('is one of at most 100', () => {
    const many = (count: number) => packaged(Array.from({ length: count }, () => 'gs://bkt/t.whl'));
    expect(check(jobOf({ master: many(100) })).codes).toEqual([]);
    expect(check(jobOf({ master: many(101) })).codes).toEqual(['TOO_MANY_PACKAGES packageUris[0]']);
  });

  it.each(['trainer.task', 'cnn-model.task', '02_train.task', 'träiner', 'train.py', './src/v1.2/train-all.py'])(
    'accepts the module %s',
    (module) => {
      expect(check(jobOf({ master: packaged(undefined, module) })).programs?.program).toMatchObject({ module });
    },
  );

  it.each(['trainer/task', '../train.py', '/train.py', 'setup.py', 'trainer.task.py', 'a b', '', '{{MODULE}}'])(
    'rejects the module "%s"',
    (module) => {
      const code = module.startsWith('{') ? 'PLACEHOLDER' : 'INVALID_PYTHON_MODULE';
      expect(check(jobOf({ master: packaged(undefined, module) })).codes).toEqual([`${code} pythonModule`]);
    },
  );
});

describe('arguments and environment variables', () => {
  const withArgs = (args: readonly string[]) => jobOf({ master: { ...packaged(), args: listed(args, 'args') } });
  const withVariable = (key: string, text: string) =>
    jobOf({ master: { ...packaged(), environment: [located({ key, text }, `env.${key}`)] } });

  it('are passed unchanged', () => {
    expect(check(withArgs(['--x={{Y}}', '', 'ä b'])).programs?.program).toMatchObject({
      args: ['--x={{Y}}', '', 'ä b'],
    });
    expect(check(withVariable('A_1', 'ä=$(B)')).programs?.program.environment).toEqual({ A_1: 'ä=$(B)' });
  });

  it.each([
    ['a NUL', withArgs(['ok', 'a\0']), 'INVALID_ARGUMENT args[1]'],
    ['an unpaired surrogate', withArgs(['\ud800']), 'INVALID_ARGUMENT args[0]'],
    ['more than 128 KiB', withArgs(['x'.repeat(128 << 10)]), 'ARGUMENTS_TOO_LARGE args[0]'],
    ['a variable with a NUL', withVariable('A', 'a\0'), 'INVALID_ENVIRONMENT env.A'],
    ['a variable with a dash', withVariable('A-B', 'x'), 'INVALID_ENVIRONMENT env.A-B'],
    ['a variable without a name', withVariable('', 'x'), 'INVALID_ENVIRONMENT env.'],
    ['variables of more than 64 KiB', withVariable('A', 'x'.repeat(64 << 10)), 'ENVIRONMENT_TOO_LARGE env.A'],
  ])('cannot be %s', (_, draft, code) => {
    expect(check(draft)).toEqual({ programs: null, codes: [code] });
  });

  it('cause at most 100 problems', () => {
    const environment = Array.from({ length: 5_000 }, (_, index) =>
      located({ key: `${index}`, text: '' }, `env.${index}`),
    );
    expect(check(jobOf({ master: { ...packaged(), environment } })).codes).toHaveLength(100);
  });
});

describe('a container', () => {
  it.each([
    IMAGE,
    'ubuntu',
    'ubuntu:22.04',
    'localhost:5000/a/b',
    'gcr.io/example.com:acme/digits',
    `gcr.io/acme/digits@sha256:${'0a'.repeat(32)}`,
    `gcr.io/acme/digits:1@sha256:${'0a'.repeat(32)}`,
  ])('accepts the image %s', (image) => {
    expect(check(jobOf({ master: contained(image) }))).toEqual({
      programs: { program: { ...CONTAINER, imageUri: image }, ofRole: NONE },
      codes: [],
    });
  });

  it.each([
    ['', 'INVALID_IMAGE_URI'],
    ['two words', 'INVALID_IMAGE_URI'],
    ['5', 'INVALID_IMAGE_URI'],
    ['1.0', 'INVALID_IMAGE_URI'],
    ['https://gcr.io/acme/digits', 'INVALID_IMAGE_URI'],
    ['gcr.io/acme/', 'INVALID_IMAGE_URI'],
    ['gcr.io//digits', 'INVALID_IMAGE_URI'],
    ['gcr.io/acme/Digits', 'INVALID_IMAGE_URI'],
    ['gcr.io/acme/digits:', 'INVALID_IMAGE_URI'],
    ['gcr.io/acme/digits@latest', 'INVALID_IMAGE_URI'],
    [`gcr.io/acme/digits@sha256:${'0a'.repeat(32)}@x`, 'INVALID_IMAGE_URI'],
    [`gcr.io/${'a/'.repeat(300)}a`, 'INVALID_IMAGE_URI'],
    ['gcr.io/{{PROJECT}}/digits', 'PLACEHOLDER'],
    ['gcr.io/PROJECT_ID/digits', 'PLACEHOLDER'],
    ['TRAINING_CONTAINER', 'PLACEHOLDER'],
  ])('rejects the image "%s": %s', (image, code) => {
    expect(check(jobOf({ master: contained(image) }))).toEqual({ programs: null, codes: [`${code} imageUri`] });
  });

  it('uses the job’s arguments, or its own command and arguments', () => {
    const args = listed(['--x'], 'trainingInput.args');
    const own = { command: listed(['python3', 'x.py'], 'command'), containerArgs: listed(['--y'], 'containerArgs') };
    expect(check(jobOf({ master: { ...contained(), args } })).programs?.program).toEqual({
      ...CONTAINER,
      args: ['--x'],
    });
    expect(check(jobOf({ master: { ...contained(), ...own } })).programs?.program).toEqual({
      ...CONTAINER,
      command: ['python3', 'x.py'],
      args: ['--y'],
    });
  });

  it('has a single field for arguments in Dropforge’s dialect', () => {
    const program = { ...contained(), command: listed(['run'], 'command'), args: listed(['--x'], 'args') };
    expect(check(jobOf({ master: program }, { dialect: 'dropforge' }))).toEqual({
      programs: { program: { ...CONTAINER, command: ['run'], args: ['--x'] }, ofRole: NONE },
      codes: [],
    });
  });

  it('runs a module of packages that are mounted into it, in Dropforge’s dialect', () => {
    expect(check(jobOf({ master: { ...contained(), ...packaged() } }, { dialect: 'dropforge' }))).toEqual({
      programs: {
        program: { ...CONTAINER, packageUris: ['gs://bkt/t.tar.gz'], module: 'trainer.task' },
        ofRole: NONE,
      },
      codes: [],
    });
  });

  it('mounts the package of the job file if it names a module alone, and none for a command', () => {
    const context = { ...CONTEXT, defaults: { ...CONTEXT.defaults, packageUris: ['gs://up/a.zip'] } };
    const withModule = { ...contained(), pythonModule: located('a.b', 'module') };
    const programOf = (master: Partial<ProgramDraft>) =>
      check(jobOf({ master }, { dialect: 'dropforge' }), context).programs?.program;
    expect(programOf(withModule)).toMatchObject({ packageUris: ['gs://up/a.zip'], module: 'a.b' });
    expect(programOf(contained())).toMatchObject({ packageUris: [], module: null });
  });

  it('mounts packages for a command, and rejects invalid ones', () => {
    const withPackages = (uri: string) => ({ ...contained(), packageUris: listed([uri], 'packages') });
    const checkOwn = (uri: string) => check(jobOf({ master: withPackages(uri) }, { dialect: 'dropforge' }));
    expect(checkOwn('gs://bkt/a.whl').programs?.program).toMatchObject({
      packageUris: ['gs://bkt/a.whl'],
      module: null,
    });
    expect(checkOwn('gs://bkt/a.exe')).toEqual({ programs: null, codes: ['INVALID_PACKAGE_URI packages[0]'] });
  });

  const command = listed(['run'], 'masterConfig.containerCommand');
  it.each<[string, JobDraft, string]>([
    [
      'a runtime version',
      jobOf({ master: contained() }, { runtimeVersion: located('2.11', 'runtimeVersion') }),
      'IMAGE_AND_RUNTIME_VERSION runtimeVersion',
    ],
    [
      'arguments of the job with its own command',
      jobOf({ master: { ...contained(), command, args: listed(['--x'], 'trainingInput.args') } }),
      'ARGS_TWICE masterConfig.containerCommand',
    ],
    [
      'a command and a module, in Dropforge’s dialect',
      jobOf(
        { master: { ...contained(), ...packaged(), command: listed(['run'], 'command') } },
        { dialect: 'dropforge' },
      ),
      'TWO_PROGRAMS pythonModule',
    ],
  ])('cannot be combined with %s', (_, draft, code) => {
    expect(check(draft).codes).toEqual([code]);
  });

  it('requires an image if a command is given', () => {
    const codes = ['COMMAND_WITHOUT_IMAGE masterConfig.containerCommand'];
    expect(check(jobOf({ master: { ...packaged(), command } }))).toEqual({ programs: null, codes });
  });

  it('runs the module that AI Platform allows with it, in all roles with an image', () => {
    const worker = contained('gcr.io/acme/worker', 'workerConfig.imageUri');
    const { programs, codes } = check(jobOf({ master: { ...contained(), ...packaged() }, worker }));
    const { packageUris, module } = PYTHON;
    expect(programs?.program).toEqual({ ...CONTAINER, packageUris, module });
    expect(programs?.ofRole.worker).toMatchObject({ imageUri: 'gcr.io/acme/worker', packageUris, module });
    expect(codes).toEqual([]);
  });

  it('of a worker runs its own program if the master runs the module without an image', () => {
    const worker = contained('gcr.io/acme/worker', 'workerConfig.imageUri');
    const { programs, codes } = check(jobOf({ master: packaged(), worker }));
    expect(programs?.ofRole.worker).toMatchObject({ imageUri: 'gcr.io/acme/worker', packageUris: [], module: null });
    expect(codes).toEqual([]);
  });

  it('runs its own command, or its entry point with a package without a module', () => {
    const command = [located('run', 'containerCommand[0]')];
    const { programs, codes } = check(jobOf({ master: { ...contained(), ...packaged(), command } }));
    expect(programs?.program).toEqual({ ...CONTAINER, command: ['run'] });
    expect(codes).toEqual(['FIELD_WITHOUT_EFFECT pythonModule']);
    const alone = check(jobOf({ master: { ...contained(), ...packaged(), pythonModule: undefined } }));
    expect(alone.programs?.program).toEqual(CONTAINER);
    expect(alone.codes).toEqual(['FIELD_WITHOUT_EFFECT packageUris[0]']);
  });
});
