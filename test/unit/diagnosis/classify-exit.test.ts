import { describe, expect, it } from 'vitest';
import { classifyExit } from '#shared/diagnosis/classify-exit.ts';
import { type CauseCode, classOf, EVIDENCE_LINES_MAX } from '#shared/domain/cause.ts';
import type { ExitFacts } from '#shared/domain/exit-report.ts';
import { factsOf } from '../../support/diagnosis/job-facts.ts';

function facts(change: Partial<ExitFacts>): ExitFacts {
  return { reason: 'EXITED', exitCode: 1, signal: null, message: 'The program ended.', evidence: [], ...change };
}

function causeOfExit(change: Partial<ExitFacts>) {
  const exit = classifyExit(facts(change), factsOf('digits'));
  if (exit.outcome !== 'FAILED') {
    throw new Error('This exit was classified as a success.');
  }
  return exit.cause;
}

const PERIMETER_ID = 'vpcServiceControlsUniqueIdentifier: HICD57WF_a1-x';

const stderr = (...evidence: string[]) => ({ evidence });

describe('classifyExit', () => {
  it('is success for status 0, whatever was printed', () => {
    expect(classifyExit(facts({ exitCode: 0, ...stderr('ValueError: handled') }), factsOf('digits'))).toEqual({
      outcome: 'SUCCEEDED',
    });
  });

  it.each([
    'PACKAGE_UNREADABLE',
    'IMAGE_PULL_FAILED',
    'JOB_DIR_UNWRITABLE',
    'CHECKPOINT_UNREADABLE',
    'SECRET_UNAVAILABLE',
    'SERVICE_UNREACHABLE',
  ] as const)('names the denial of a service perimeter with its unique id, whatever the VM requested: %s', (reason) => {
    const message = `Cloud Storage answered 403: Request is prohibited by organization's policy. ${PERIMETER_ID}`;
    for (const given of [{ message }, { message: 'It was rejected.', evidence: [message] }]) {
      const cause = causeOfExit({ reason, exitCode: null, ...given });
      expect([cause.code, classOf(cause)]).toEqual(['PERIMETER_DENIED', 'configuration']);
      expect(cause.message).toMatch(
        /^VPC Service Controls denied a request of the VM, with the unique id HICD57WF_a1-x\./,
      );
    }
  });

  it('diagnoses the denial of a request of the program, and leaves its cause', () => {
    const cause = causeOfExit(stderr(`Forbidden: 403 Request is prohibited by organization's policy. ${PERIMETER_ID}`));
    expect(cause).toMatchObject({ code: 'PROGRAM_FAILED', diagnosis: { label: 'vpc_sc_violation' } });
  });

  it.each<[CauseCode, Partial<ExitFacts>]>([
    ['PROGRAM_FAILED', {}],
    ['PROGRAM_FAILED', stderr('Traceback (most recent call last):', 'ValueError: loss is nan')],
    ['PROGRAM_FAILED', stderr('MemoryError: was handled', 'ValueError: then this')],
    ['PROGRAM_FAILED', { exitCode: 3 }],
    ['MODULE_NOT_FOUND', stderr("ModuleNotFoundError: No module named 'torch'")],
    ['MODULE_NOT_FOUND', stderr('ImportError: No module named yaml')],
    ['MODULE_NOT_FOUND', stderr("ImportError: Missing optional dependency 'openpyxl'. Use pip to install openpyxl.")],
    ['IMPORT_FAILED', stderr("ImportError: cannot import name 'x' from 'y'", 'exit soon')],
    ['IMPORT_FAILED', stderr('ImportError: cannot import name loader_impl')],
    ['IMPORT_FAILED', stderr('ImportError: libcudart.so.8.0: cannot open shared object file: No such file')],
    ['IMPORT_FAILED', stderr('OSError: libcudart.so.10.2: cannot open shared object file: No such file')],
    [
      'PROGRAM_FAILED',
      stderr("ImportError: cannot import name 'f' from 'trainer.util' (/h/sources/0/trainer/util.py)"),
    ],
    ['PROGRAM_NOT_FOUND', stderr('/usr/bin/python3: No module named trainer.task')],
    [
      'PROGRAM_NOT_FOUND',
      stderr(
        'ValueError: of an earlier line',
        "/v/bin/python: Error while finding module specification for 'trainer.task' (ModuleNotFoundError: No module named 'trainer')",
      ),
    ],
    ['PROGRAM_NOT_FOUND', stderr("/v/bin/python3.12: can't open file '/h/work/train.py': [Errno 2] No such file")],
    [
      'OUT_OF_MEMORY',
      stderr('RuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 14285187448 bytes.'),
    ],
    ['OUT_OF_MEMORY', stderr('MemoryError')],
    ['OUT_OF_MEMORY', stderr('torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB')],
    ['OUT_OF_MEMORY', stderr('RuntimeError: CUDA out of memory.')],
    [
      'OUT_OF_MEMORY',
      stderr('tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor'),
    ],
    ['DISK_FULL', stderr('OSError: [Errno 28] No space left on device')],
    ['PROGRAM_KILLED', { exitCode: null, signal: 9 }],
    ['PROGRAM_KILLED', { exitCode: 137, signal: 9, ...stderr('MemoryError') }],
    ['PREEMPTED', { reason: 'PREEMPTED', exitCode: 143, signal: 15 }],
    ['PREEMPTED', { reason: 'PREEMPTED', exitCode: 0 }],
    ['VM_TERMINATED', { reason: 'STOPPED', exitCode: null, signal: 15 }],
    ['MAX_RUNNING_TIME_EXCEEDED', { reason: 'MAX_RUNNING_TIME', exitCode: 0 }],
    ['OUT_OF_MEMORY', { reason: 'OUT_OF_MEMORY', exitCode: null, signal: 9 }],
    ['DISK_FULL', { reason: 'DISK_FULL' }],
    ['PACKAGE_UNREADABLE', { reason: 'PACKAGE_UNREADABLE', exitCode: null }],
    ['INSTALL_FAILED', { reason: 'INSTALL_FAILED' }],
    ['JOB_DIR_UNWRITABLE', { reason: 'JOB_DIR_UNWRITABLE', exitCode: null }],
    ['CHECKPOINT_UNREADABLE', { reason: 'CHECKPOINT_UNREADABLE', exitCode: null }],
    ['DISK_TOO_SMALL', { reason: 'DISK_TOO_SMALL', exitCode: null }],
    ['SERVICE_UNREACHABLE', { reason: 'SERVICE_UNREACHABLE', exitCode: null }],
    ['SECRET_UNAVAILABLE', { reason: 'SECRET_UNAVAILABLE', exitCode: null }],
    ['IMAGE_PULL_FAILED', { reason: 'IMAGE_PULL_FAILED', exitCode: null }],
    ['CONTAINER_NOT_STARTED', { reason: 'CONTAINER_NOT_STARTED', exitCode: null }],
    ['GPU_MISSING', { reason: 'GPU_MISSING', exitCode: null }],
    ['GPU_FAILED', { reason: 'GPU_FAILED', exitCode: null }],
    ['GPU_FAILED', { reason: 'GPU_FAILED', exitCode: 1, ...stderr("KeyError: 'lr'") }],
    ['INTERNAL_ERROR', { reason: 'AGENT_FAILED', exitCode: null }],
  ])('is %s for %j', (code, change) => {
    expect(causeOfExit(change).code).toBe(code);
  });

  it('is an interruption if the VM was stopped, and a user error only if the program exited', () => {
    expect(classOf(causeOfExit({ reason: 'PREEMPTED' }))).toBe('interruption');
    expect(classOf(causeOfExit({ reason: 'STOPPED' }))).toBe('interruption');
    expect(classOf(causeOfExit({ reason: 'SERVICE_UNREACHABLE', exitCode: null }))).toBe('interruption');
    expect(classOf(causeOfExit({}))).toBe('user');
  });

  it.each([
    ["ModuleNotFoundError: No module named 'yaml'", 'Module yaml is not installed. The package pyyaml has it. '],
    [
      "ImportError: cannot import name 'Iterable' from 'collections' (/usr/lib/python3.11/collections/__init__.py)",
      'The installed version of collections has no Iterable. ',
    ],
    ['/usr/bin/python3: No module named trainer.task', 'Python found no module trainer.task in what was installed. '],
    ['ValueError: x', ''],
  ])('says of %s what is missing', (line, explanation) => {
    expect(causeOfExit(stderr(line)).message).toBe(`${explanation}The program ended.`);
  });

  it('contains the signal, with the shell’s exit status, and no status that the message states already', () => {
    expect(causeOfExit({ exitCode: 3 }).message).toBe('The program ended.');
    expect(causeOfExit({ exitCode: null, signal: 9 }).message).toContain('status 137 (signal 9)');
    expect(causeOfExit({ exitCode: null, reason: 'AGENT_FAILED' }).message).toBe('The program ended.');
  });

  it('keeps the newest evidence lines, up to a limit', () => {
    const evidence = Array.from({ length: EVIDENCE_LINES_MAX + 5 }, (_, index) => `line ${index}`);
    expect(causeOfExit({ evidence }).evidence).toEqual(evidence.slice(5));
  });
});
