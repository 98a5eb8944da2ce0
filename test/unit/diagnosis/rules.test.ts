import { describe, expect, it } from 'vitest';
import { findRoot } from '#shared/diagnosis/find-root.ts';
import { RULES } from '#shared/diagnosis/rules/all-rules.ts';
import { LABELS } from '#shared/diagnosis/rules/labels.ts';

describe('the rules of diagnosis', () => {
  it.each(RULES.map((rule) => [rule.label, rule.example, rule] as const))('label %s for %s', (label, example, rule) => {
    const root = findRoot([example]);
    expect(root?.label).toBe(label);
    expect(root?.rule).toBe(rule);
  });

  it('have no label without a rule, except for those of health findings', () => {
    const labels = new Set<string>([...RULES.map(({ label }) => label), 'loss_diverged', 'training_stalled']);
    expect(Object.keys(LABELS).filter((label) => !labels.has(label))).toEqual([]);
  });
});

describe('findRoot', () => {
  it.each([
    [
      'the rank that ran out of memory, not the timeout of the other ranks',
      [
        '[rank1]: Traceback (most recent call last):',
        '[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.',
        '[rank0]:[E ProcessGroupNCCL.cpp:828] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE)',
        'torch.distributed.elastic.multiprocessing.errors.ChildFailedError:',
      ],
      'gpu_oom',
    ],
    [
      'the assertion on the device, not the CUDA error that follows',
      [
        'Loss.cu:242: nll_loss: block: [0,0,0], thread: [3,0,0] Assertion `t >= 0 && t < n_classes` failed.',
        'RuntimeError: CUDA error: device-side assert triggered',
      ],
      'shape_or_dtype_error',
    ],
    [
      'the first exception of a chain',
      [
        'Traceback (most recent call last):',
        'OSError: [Errno 28] No space left on device',
        '',
        'During handling of the above exception, another exception occurred:',
        '',
        'Traceback (most recent call last):',
        'RuntimeError: could not save',
      ],
      'disk_full',
    ],
    [
      'the exception that ended the program, not one that it handled before',
      ['MemoryError: was handled', 'ValueError: then this'],
      'user_exception',
    ],
    [
      'a message behind escapes, carriage returns, clocks and the name of a rank',
      [
        '  1%|\r  2%|\r\u001b[31m2026-11-22T10:00:00Z [rank0]: ValueError: Shapes (None, 4) and (None, 10) are incompatible\u001b[0m',
      ],
      'shape_or_dtype_error',
    ],
    [
      'a message that wraps',
      [
        'Execution of replica 0 failed: Resource exhausted: Out ',
        'of memory while trying to allocate 5520758552 bytes.',
      ],
      'gpu_oom',
    ],
    [
      'a message in the middle of a long line',
      [`${'x'.repeat(500)} CUDA out of memory. ${'y'.repeat(2_000)}`],
      'gpu_oom',
    ],
    [
      'the kernel, whatever the program printed',
      [
        'NVRM: Xid (PCI:0000:00:04): 79, pid=2112, GPU has fallen off the bus.',
        'RuntimeError: CUDA error: unknown error',
      ],
      'gpu_hardware_fault',
    ],
    [
      'the exception after a training that went on with a smaller batch, not the memory that ran out before',
      [
        'RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB.',
        'Epoch 1/3 loss: 0.53',
        'Traceback (most recent call last):',
        '  File "train.py", line 9, in <module>',
        "KeyError: 'labels'",
      ],
      'user_exception',
    ],
    [
      'the memory that ran out again after progress',
      [
        'WARNING: CUDA out of memory, batch 3 is left out',
        'Epoch 1/3 loss: 0.53',
        'Traceback (most recent call last):',
        'RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB.',
      ],
      'gpu_oom',
    ],
    [
      'what a progress bar and a traceback that is cut follow',
      [
        'IndexKernel.cu:97: block: [16,0,0] Assertion `index < sizes[i] && "index out of bounds"` failed.',
        '  1/150   0.298G   1.254:   0%|   | 2/118792 [00:00<10:51:20,  3.04it/s]',
        'Traceback (most recent call last):',
        '  File "/opt/conda/bin/yolo", line 8, in <module>',
      ],
      'shape_or_dtype_error',
    ],
    [
      'the topic of an exception that no pattern names',
      ['Traceback (most recent call last):', "ValueError: Dict key mismatch; expected keys: ['params', 'step']"],
      'checkpoint_corrupt',
    ],
    [
      'what was tried in the frames of a traceback without its exception',
      [
        '  File "/v/torch/nn/modules/conv.py", line 443, in forward',
        '    return self._conv_forward(input, self.weight, self.bias)',
      ],
      'shape_or_dtype_error',
    ],
    [
      'the statement that raised an exception that is cut off',
      ["raise ValueError('First step cannot be zero.')"],
      'user_exception',
    ],
    [
      'an exception that a line of another program quotes',
      ['Error in py_call_impl(callable): ValueError: You must call `compile()` before using the model.'],
      'user_exception',
    ],
    [
      'a message that begins on the line after the class of the exception',
      ['RuntimeError:', '  An attempt has been made to start a new process before the bootstrapping phase is over'],
      'distributed_strategy_misuse',
    ],
    [
      'the exception that ended the program, not a warning before it',
      [
        'WARNING: connection reset by peer, metrics are not sent',
        'Traceback (most recent call last):',
        '  File "train.py", line 9, in <module>',
        "KeyError: 'labels'",
      ],
      'user_exception',
    ],
    [
      'the exception of a program, not make that ran it',
      ['ValueError: not enough values to unpack', 'make: *** [Makefile:20: debug] Error 1'],
      'user_exception',
    ],
    [
      'a check of a library in C++, which prints no exception',
      ['2025-04-23 20:35:34.618070: F external/xla/gemm_fusion_autotuner.cc:1099] Non-OK-status: executable.status()'],
      'user_exception',
    ],
    [
      'a message before a very long line, in one text',
      [`RuntimeError: CUDA out of memory.\n${'x'.repeat(1_000_000)}`],
      'gpu_oom',
    ],
  ])('finds %s', (_, lines, label) => {
    expect(findRoot(lines)?.label).toBe(label);
  });

  it.each([
    ['no lines', []],
    ['blank lines', ['', '  ']],
    ['a warning after which training went on', ['WARNING: connection reset by peer', 'Epoch 2/10', 'loss: 0.4']],
    [
      'a traceback after which training went on and succeeded',
      [
        'Traceback (most recent call last):',
        'RuntimeError: CUDA out of memory.',
        'Epoch 2/2 loss: 0.4',
        'Training done',
      ],
    ],
    [
      'an exception that Python ignores',
      [
        'Training complete. Best epoch: 17',
        'Exception ignored in: <function ZipFile.__del__ at 0x7f0e6cc06cb0>',
        'Traceback (most recent call last):',
        '  File "/usr/lib/python3.10/zipfile.py", line 1834, in __del__',
        'OSError: [Errno 95] Operation not supported',
      ],
    ],
    ['settings that name errors', ["Namespace(detect_anomaly=False, on_oom='skip', nan_policy='raise')"]],
    ['an Xid of the program itself', ['NVRM: Xid (PCI:0000:00:04): 31, pid=1, Ch 00000008, intr 10000000.']],
  ])('finds nothing in %s', (_, lines) => {
    expect(findRoot(lines)).toBeUndefined();
  });
});
