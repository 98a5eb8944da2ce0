import type { Rule } from '#shared/diagnosis/rules/rule.ts';

/**
 * The kernel and the loader name the memory of the machine explicitly, so they come first. "OOM" and "resource exhausted"
 * are printed for both memories: the device in the message decides.
 */
export const HOST_MEMORY_RULES: readonly Rule[] = [
  {
    label: 'host_oom',
    patterns: [
      /\bout of memory: kill(?:ed)? process \d/i,
      /\boom-kill(?:er)?\b.{0,60}(?:constraint|event|invoked)/i,
      /killed due to (?:the node running low on memory|out of memory)/i,
      /TerminatedWorkerError|excessive memory usage causing/i,
      /process pool was terminated abruptly/i,
      /crashed after using all available RAM/i,
      /tried to allocate more memory than is available/i,
      /RayOutOfMemoryError/i,
      /java\.lang\.OutOfMemoryError/i,
      /Error tokenizing data\. C error: out of memory/i,
      /(?:exit|return)(?:s|ed)?(?: with)?(?: (?:a )?non-zero)?(?: exit)?(?: code| status)?(?: of)? ?[=:]? ?(?:-9|137)\b/i,
      /\boom_kill\b/i,
      /oom_reaper|\bhost allocation of size \d+ failed/i,
      /memory allocation of \d+ bytes failed/i,
      /\[WinError (?:8|1455)\]|paging file is too small/i,
      /exceeded (?:\w+ )?memory (?:limit|budget)|exceeded \d+% (?:of )?memory|KilledWorker|TERM_MEMLIMIT/i,
      /[Cc]annot allocate (?:vector|buffer|array|block|memory block) of size/,
    ],
    example: '[99.1] Out of memory: Killed process 25315 (python3) total-vm:53312244kB, anon-rss:31451456kB',
  },
  {
    label: 'host_oom',
    patterns: [
      /\b(?:OOM ?Killed|killed by (?:the )?OOM|Memory cgroup out of memory|memory limit exceeded|ran out[- ]of[- ]memory and exited|Node ran out of memory|low on resource: memory)/i,
    ],
    example: 'The replica master 0 ran out-of-memory and exited with a non-zero status of 9(SIGKILL)',
  },
  {
    label: 'host_oom',
    patterns: [
      /killed by signal: ?(?:Killed|Bus error)/i,
      /insufficient shared memory \(shm\)/i,
      /out of shared memory/i,
      /unable to write to file <\/torch_/,
      /(?<=\b(?:SemLock|ctx\.R?Lock)\(.{0,300})No space left on device/,
      /unable to (?:open|mmap|write to|allocate) shared memory/i,
    ],
    remedy:
      'Use fewer loader workers (num_workers) or a smaller batch: each worker holds its batches in shared memory. Or choose a machine type with more memory.',
    example: 'RuntimeError: DataLoader worker (pid 3855) is killed by signal: Bus error. It is possible that',
  },
  {
    label: 'host_oom',
    patterns: [
      /DefaultCPUAllocator/i,
      /(?:not enough memory|can't allocate memory): you tried to allocate/i,
      /OOM when allocating tensor.{0,300}device:CPU/i,
      /could not allocate pinned host memory/i,
    ],
    unless: /caller indicates/,
    example: "RuntimeError: [enforce fail at alloc_cpu.cpp:75] . DefaultCPUAllocator: can't allocate memory",
  },
  {
    label: 'host_oom',
    patterns: [/\b(?:_Array|Arrow)?MemoryError\b/, /Cannot allocate memory/],
    unless: /\bcuda|GPU|device memory|cudaErrorMemoryAllocation|errno: 12.*nccl/i,
    scope: 'exception',
    example: 'MemoryError: Unable to allocate 4.00 MiB for an array with shape (512, 512, 2)',
  },
  {
    label: 'host_oom',
    patterns: [
      /^\W{0,4}(?:Killed\b\W{0,4}|\S*: line \d+:\s+\d+ Killed\b.*|\d+ Killed\b.*|zsh: killed\b.*|已杀死)\s*$/,
      /[\])%]\s{0,4}Killed$/,
    ],
    scope: 'line',
    example: 'Killed',
  },
  {
    label: 'host_oom',
    patterns: [
      /exitcode: -9\b/i,
      /(?:interrupted by|exited on|killed by) signal 9\b/i,
      /(?:status of|Signal) 9 ?\(SIGKILL\)/i,
    ],
    example: 'ERROR: torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 0 (pid: 4711)',
  },
];

/** Messages that name the GPU themselves. */
export const NAMED_GPU_MEMORY_RULES: readonly Rule[] = [
  {
    label: 'gpu_oom',
    patterns: [
      /CUDA_ERROR_OUT_OF_MEMORY|cudaSuccess \(2 vs\. 0\)/i,
      /cudaErrorMemoryAllocation/i,
      /torch\.(?:cuda\.)?OutOfMemoryError/i,
      /Blas [xS]?GEMM\S* launch failed/i,
      /failed to (?:run|create) cuBLAS/i,
      /Dst tensor is not initialized/i,
      /(?:cuda|gpu|device|cudaMalloc|cudaSuccess|CuError|hbm|VRAM)\b.{0,80}\bout of memory/i,
      /\bout of memory\b.{0,60}(?:\bTHC|\/cuda|\bcuda|\bGPU)/i,
      /CUBLAS_STATUS_NOT_INITIALIZED/i,
      /failed to alloc(?:ate)? [\d.]+\S* .{0,20}(?:on|from) (?:the )?(?:device|GPU)/i,
      /HIP out of memory/i,
      /MPS backend out of memory/i,
      /\b(?:CUDA|GPU|VRAM) OOM\b/i,
      /(?:\bTHC|\.cuh?\b).{0,80}\bout of memory/i,
      /enforce allocating <= available failed/i,
    ],
    unless: /retrying|\bretry (?:with|in|after|later)|skipping batch/i,
    example: 'RuntimeError: CUDA out of memory. Tried to allocate 2.87 GiB (GPU 0; 14.76 GiB total capacity;',
  },
];

/** Allocators and libraries that also allocate host memory. */
export const GPU_MEMORY_RULES: readonly Rule[] = [
  {
    label: 'gpu_oom',
    patterns: [
      /CUBLAS_STATUS_ALLOC_FAILED/i,
      /CUDNN_STATUS_ALLOC_FAILED/i,
      /std::bad_alloc: (?:CUDA|out_of_memory: CUDA)/i,
      /Unable to find a valid cuDNN algorithm/i,
    ],
    unless: /caller indicates/,
    example: 'RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`',
  },
  {
    label: 'gpu_oom',
    patterns: [
      /OOM when allocating tensor/i,
      /Resource ?exhausted:? ?(?:\S+ ){0,4}?(?:Out of memory|OOM|Failed to allocate request)/i,
      /RESOURCE_EXHAUSTED: (?:Out of memory|Failed to allocate|.{0,200}(?:memory|allocat))/i,
      /Out of memory (?:while trying to allocate|allocating) \d/i,
      /Failed to allocate request for [\d.]+ ?[KMGT]?i?B/i,
      /Allocator \(GPU_\d+_bfc\) ran out of memory/i,
      /Ran out of memory in memory space (?:hbm|vmem)/i,
      /\bof device memory\b|\bgpu_memory_utilization\b|GPU memory utilization|exceed\w* (?:the )?\w* ?(?:GPU|device|hbm) (?:memory|capacity)/i,
      /Memory allocation error on worker/i,
    ],
    unless: /device:CPU|caller indicates/,
    example: 'ResourceExhaustedError: OOM when allocating tensor with shape[64,2016,9,9] and type float on GPU_0_bfc',
  },
];

/** std::bad_alloc names no device: after the rules that do. */
export const OTHER_MEMORY_RULES: readonly Rule[] = [
  {
    label: 'host_oom',
    patterns: [
      /\bstd::bad_alloc\b/i,
      /killed by SIGKILL by OOM killer/,
      /\bout of memory\b(?! (?:issue|error handling))/i,
    ],
    unless: /retry|OOM retries|not a failure/i,
    example: "terminate called after throwing an instance of 'std::bad_alloc'",
  },
  {
    // Follows from whatever ended the worker, if that is printed.
    label: 'host_oom',
    patterns: [/DataLoader worker \(pid\(s\) [\d, ]+\) exited unexpectedly/i],
    explain: () =>
      'A worker of the data loader ended. If nothing above says why, memory was short, or it crashed: num_workers=0 shows which.',
    example: 'DataLoader worker (pid(s) 4711) exited unexpectedly',
  },
];
