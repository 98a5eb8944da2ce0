import { describe, expect, it } from 'vitest';
import { type CauseCode, classOf, EVIDENCE_LINES_MAX } from '#shared/domain/cause.ts';
import { classifyExit, type ExitFacts } from '#shared/domain/exit-report.ts';

function facts(change: Partial<ExitFacts>): ExitFacts {
  return { reason: 'EXITED', exitCode: 1, signal: null, message: 'The program ended.', evidence: [], ...change };
}

function causeOfExit(change: Partial<ExitFacts>) {
  const exit = classifyExit(facts(change), 'digits');
  if (exit.outcome !== 'FAILED') {
    throw new Error('This exit was classified as a success.');
  }
  return exit.cause;
}

const stderr = (...evidence: string[]) => ({ evidence });

describe('classifyExit', () => {
  it('is success for status 0, whatever was printed', () => {
    expect(classifyExit(facts({ exitCode: 0, ...stderr('ValueError: handled') }), 'digits')).toEqual({
      outcome: 'SUCCEEDED',
    });
  });

  it.each<[CauseCode, Partial<ExitFacts>]>([
    ['PROGRAM_FAILED', {}],
    ['PROGRAM_FAILED', stderr('Traceback (most recent call last):', 'ValueError: loss is nan')],
    ['PROGRAM_FAILED', stderr('MemoryError: was handled', 'ValueError: then this')],
    ['PROGRAM_FAILED', { exitCode: 3 }],
    ['MODULE_NOT_FOUND', stderr("ModuleNotFoundError: No module named 'torch'")],
    ['MODULE_NOT_FOUND', stderr("ImportError: cannot import name 'x' from 'y'", 'exit soon')],
    ['MODULE_NOT_FOUND', stderr('/usr/bin/python3: No module named trainer.task')],
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

  it('contains status and signal, with the shell’s exit status if there is only a signal', () => {
    expect(causeOfExit({ exitCode: 3 }).message).toBe(
      'The program ended. The program of job digits exited with status 3.',
    );
    expect(causeOfExit({ exitCode: null, signal: 9 }).message).toContain('status 137 (signal 9)');
    expect(causeOfExit({ exitCode: null, reason: 'AGENT_FAILED' }).message).toBe('The program ended.');
  });

  it('keeps the newest evidence lines, up to a limit', () => {
    const evidence = Array.from({ length: EVIDENCE_LINES_MAX + 5 }, (_, index) => `line ${index}`);
    expect(causeOfExit({ evidence }).evidence).toEqual(evidence.slice(5));
  });
});
