import type { Rule } from '#shared/diagnosis/rules/rule.ts';

/** The Xids of the hardware are those that the agent looks for (vm_agent/program/gpu_faults.py). */
export const GPU_HARDWARE_RULES: readonly Rule[] = [
  {
    label: 'gpu_hardware_fault',
    patterns: [
      /NVRM: Xid \([^)]{0,40}\): (?:48|62|64|74|79|94|95|119|120|136|14[03-9]|150|158|17[12])\b(?!.{0,80}Nonfatal)/i,
      /fallen off the bus|RmInitAdapter failed|rm_init_adapter failed/i,
      /GPU (?:is )?lost\b/i,
      /ERROR_GPU_IS_LOST/i,
      /uncorrectable (?:NVLink|ECC) error/i,
      /ECC_UNCORRECTABLE/i,
      /double[- ]bit (?:ECC )?error/i,
      /unable to determine the device handle for GPU/i,
      /system not yet initialized/i,
    ],
    example: 'NVRM: Xid (PCI:0000:00:04): 79, pid=2112, GPU has fallen off the bus.',
  },
];

/** The driver comes before cuDNN: a driver that is too old also prevents cuDNN from being initialized. */
export const GPU_SOFTWARE_RULES: readonly Rule[] = [
  {
    label: 'cuda_driver_mismatch',
    patterns: [
      /driver version is insufficient for CUDA runtime/i,
      /CUDA_ERROR_(?:SYSTEM_DRIVER_MISMATCH|COMPAT_NOT_SUPPORTED|UNSUPPORTED_PTX)/i,
      /NVIDIA driver on your system is too old/i,
      /unsupported (?:display driver \/ cuda driver|toolchain|PTX version)/i,
      /Driver\/library version mismatch/i,
      /kernel version [\d.]+ does not match DSO version/i,
      /forward compatibility was attempted on non supported HW/i,
      /please update your driver to a newer version/i,
      /caused by (?:a )?stale driver version|CUDA linking API did not work/i,
      /XlaRuntimeError: .{0,40}ptxas (?:is )?too old/i,
      /not supported by your (?:NVIDIA |GPU |CUDA )?driver/i,
    ],
    example: 'RuntimeError: cuda runtime error (35) : CUDA driver version is insufficient for CUDA runtime version',
  },
  {
    label: 'wrong_arch_package',
    patterns: [
      /not compiled? with (?:CUDA|GPU|ROCm|cuDNN)/i,
      /only supports? (?:Ampere|Hopper|Volta|Turing)/i,
      /has no attribute 'StandardGpuResources'/i,
      /doesn't support bf16/i,
      /compiled without (?:GPU|CUDA)/i,
      /not buil[dt] with (?:CUDA|GPU)/i,
      /recompile with CMake option|\bcompile with USE_CUDA/i,
      /nvrtc: error: invalid value for --gpu-architecture/,
      /no kernel image is available/i,
      /is not compatible with the current PyTorch installation/i,
      /CUDA_ERROR_INVALID_PTX/i,
      /module 'torch\._C' has no attribute '_cuda_/,
      /device kernel image is invalid/i,
      /(?:PyTorch|torch).{0,60}no longer supports this GPU/i,
      /is not (?:a )?supported (?:wheel )?on this platform/i,
      /CUDA SETUP: (?:Setup failed|Required library version not found)/i,
      /PTX was compiled for|GPU program failed to execute|CUBLAS_STATUS_ARCH_MISMATCH/i,
      /doesn't exist for this backend|implementation for device \S+ not found|not enabled in this build|wasn't buil[dt] with|CUDA Setup failed despite/i,
    ],
    unless: /flash attention|-DUSE_CUDA|not compiled with flash|_GLIBCXX_USE_CXX11_ABI/i,
    example: 'AssertionError: Torch not compiled with CUDA enabled',
  },
  {
    label: 'wrong_arch_package',
    patterns: [
      /illegal (?:hardware )?instruction\b/i,
      /\bSIGILL\b/i,
      /wrong ELF class/i,
      /Exec format error/i,
      /was compiled to use \S+(?: \S+){0,6} instructions, but these aren't available/i,
      /invalid opcode/i,
      /incompatible architecture \(have/i,
      /invalid ELF header/i,
    ],
    remedy:
      'A package was built for another CPU. Choose a machine type with the instructions that the message names (AVX: N1 and newer; not Arm for x86 wheels), or install a build for this CPU.',
    example: 'Illegal instruction (core dumped)',
  },
  {
    label: 'cudnn_mismatch',
    patterns: [
      /Loaded runtime CuDNN library/i,
      /cuDNN version incompatib/i,
      /Failed to get convolution algorithm/i,
      /DNN library (?:initialization failed|is not found)/i,
      /could not create cudnn handle|error before creating cudnn handle/i,
      /cuDNN (?:launch failure|Error|error)\b/i,
      /CUDNN_STATUS_(?:NOT_INITIALIZED|INTERNAL_ERROR|VERSION_MISMATCH|ARCH_MISMATCH|EXECUTION_FAILED|MAPPING_ERROR|NOT_SUPPORTED|BAD_PARAM|SUBLIBRARY)/i,
      /Could not load library libcudnn/i,
      /unable to find an engine to execute this computation/i,
      /Unable to load (?:any of \{)?libcudnn/i,
    ],
    unless: /Could not load dynamic library|Unable to register/,
    example: 'Loaded runtime CuDNN library: 7.4.1 but source was compiled with: 7.6.0.',
  },
];

/** After import errors: a library that cannot be loaded also hides the GPU. */
export const GPU_VISIBILITY_RULES: readonly Rule[] = [
  {
    label: 'no_gpu_visible',
    patterns: [
      /no CUDA-capable device/i,
      /Could not satisfy (?:explicit )?device specification/i,
      /CUDA device \d+ but torch\.cuda\.device_count\(\)/i,
      /CUDA unknown error/i,
      /no (?:CUDA|GPU|NVIDIA) devices?\b/i,
      /could not select device driver/i,
      // The errors of the runtime: not initialized, unknown, no device.
      /cudaSuccess \((?:3|30|38|100|101|999) vs\. 0\)|\berror=(?:3|30|38|100|101|999) :/,
      /Invalid device id/i,
      /CUDA driver initialization failed/i,
      /Found no NVIDIA driver/i,
      /No (?:GPU\/TPU|visible GPU|GPU) (?:devices? )?(?:found|is available|were found|detected)/i,
      /No visible GPU/i,
      /torch\.cuda\.is_available\(\) (?:is|returned|should be|==) (?:False|True)/i,
      /invalid device ordinal/i,
      /Skipping registering GPU devices/i,
      /Cannot assign a device for operation.{0,200}GPU/i,
      /No supported gpu/i,
      /NVIDIA-SMI has failed/i,
      /(?:CUDA|GPU) is not available/i,
      /cuda runtime error \((?:3|30|38|46|100|101|10|802|999)\)/i,
      /\bno (?:\w+ )?(?:CUDA|GPU|NVIDIA)s?(?: GPUs?| devices?| cards?)? (?:is |are |was |were )?(?:detected|found|available|visible)/i,
      /You requested gpu/i,
      /Torch is not able to use GPU/i,
      /requires? (?:a )?(?:CUDA |NVIDIA )?GPUs?\b.{0,40}(?:but|none|not)/i,
      /failed call to cuInit/i,
    ],
    unless: /\bflash\b|normal if no gpus?/i,
    example: 'RuntimeError: No CUDA GPUs are available',
  },
];
