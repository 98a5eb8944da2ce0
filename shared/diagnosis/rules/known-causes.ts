import { describeNearest } from '#shared/diagnosis/rules/module-names.ts';
import { type Row, toRule } from '#shared/diagnosis/rules/row.ts';
import type { Rule } from '#shared/diagnosis/rules/rule.ts';

/** Causes whose message alone does not say what to do: something that the machine or the job lacks. */
const KNOWN_CAUSES: readonly Row[] = [
  {
    pattern:
      /(?<=(?:<frozen os>|\/os\.py)", line \d{1,5}, in __getitem__.{0,200})KeyError: '(?<name>(?!RANK'|WORLD_SIZE'|LOCAL_RANK'|MASTER_)\w{1,100})'/,
    explain: ({ name }) => `The environment variable ${name} is not set.`,
    remedy: 'Set it under env of the job file or, if it is a credential, store it and name it under secrets.',
    example: '  File "<frozen os>", line 679, in __getitem__ KeyError: \'DATA_DIR\'',
  },
  {
    pattern:
      /(?:(?<=_execute_child.{0,300})No such file or directory: |ExecutableNotFound: failed to execute (?:\w{1,12}\()?\[?)'(?<name>[^'/]{1,100})'/,
    explain: ({ name }) => `The command ${name} is not on the VM.`,
    remedy:
      'Install it in the image of a container (docs/containers.md), require a Python package that brings it, or do without it.',
    example: "graphviz.backend.execute.ExecutableNotFound: failed to execute PosixPath('dot'), make sure",
  },
  {
    pattern:
      /waiting for array_metadatas base directory creation: (?<path>\/\S{1,300}?)\/\S{0,100}orbax-checkpoint-tmp/,
    explain: ({ path }) => `Orbax needs a directory that every process sees, but each machine has its own ${path}.`,
    remedy:
      'Save to the directory that the variable AIP_CHECKPOINT_DIR names, gs://BUCKET/JOB/checkpoints/, or to /gcs/BUCKET/JOB/checkpoints.',
    example:
      'ValueError: [process_index=1] Timed out waiting for array_metadatas base directory creation: /tmp/b/1.orbax-checkpoint-tmp/default.orbax-checkpoint-tmp/array_metadatas. timeout=600 seconds. primary_process=0',
  },
  {
    label: 'permission_denied',
    pattern:
      /gated repo|\bGatedRepoError\b|Access to model .{0,80}is restricted|huggingface\.co\/\S{1,200}.{0,200}\b401\b|\b401 Client Error.{0,200}huggingface\.co/,
    remedy:
      "Accept the conditions on the model's page if it is gated, store a token of Hugging Face as a secret, and name it in the job file: secrets: { HF_TOKEN: NAME }.",
    example: 'OSError: You are trying to access a gated repo.',
  },
  {
    label: 'permission_denied',
    pattern: /urllib\.error\.HTTPError: HTTP Error (?<code>40[13])/,
    explain: ({ code }) => `A server answered a download with ${code}.`,
    remedy:
      'Open the address in a browser: data that has moved or is no longer public comes from a mirror, or from a bucket that you copy it to.',
    example: 'urllib.error.HTTPError: HTTP Error 403: Forbidden',
  },
  {
    label: 'permission_denied',
    pattern: /api_key not configured|wandb: ERROR .{0,40}(?:API key|api_key)/,
    remedy:
      'Store the key of Weights & Biases as a secret, and name it in the job file: secrets: { WANDB_API_KEY: NAME }; or set WANDB_MODE=offline under env.',
    example: 'wandb.errors.UsageError: api_key not configured (no-tty). call wandb.login(key=[your_api_key])',
  },
  {
    label: 'import_error',
    pattern: /lib(?:GL|gthread-2\.0|SM|Xext|Xrender)\.so\.\d: cannot open shared object file/,
    explain: () => 'A library for windows on a screen is not on the VM.',
    remedy: 'Require opencv-python-headless instead of opencv-python.',
    example: 'ImportError: libGL.so.1: cannot open shared object file: No such file or directory',
  },
  {
    pattern:
      /no display name and no \$DISPLAY|Cannot connect to X server|could not connect to display|as 'headless' is currently running/,
    explain: () => 'The program opens a window, and the VM has no screen.',
    remedy: 'Write figures to files: set MPLBACKEND=Agg under env of the job file for matplotlib.',
    example: '_tkinter.TclError: no display name and no $DISPLAY environment variable',
  },
  {
    pattern: /^UnicodeDecodeError: '(?<name>[\w-]+)' codec can't decode byte/,
    scope: 'exception',
    explain: ({ name }) => `A file that the program reads as text is not in ${name}.`,
    remedy:
      "Pass the encoding that the file has (encoding='latin-1', for example); a file that is compressed or binary is opened otherwise (gzip.open, mode 'rb').",
    example: "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9 in position 12: invalid continuation byte",
  },
  {
    label: 'checkpoint_corrupt',
    pattern: /\bAttributeError: Can't get attribute '(?<name>\w{1,100})' on <module '(?!__mp_main__)[\w.]{1,200}' from/,
    scope: 'exception',
    explain: ({ name }) => `A file that the program loads has an object of a class ${name}, which is not where it was.`,
    remedy:
      'Define or import the class in the module that the message names before the file is loaded; better, save and load state dicts instead of whole objects.',
    example: "AttributeError: Can't get attribute 'Net' on <module '__main__' from 'train.py'>",
  },
  {
    pattern: /^(?:AttributeError|TypeError|(?:_?pickle\.)?PicklingError): (?:[Cc]an't|[Cc]annot) (?:get|pickle)\b/,
    scope: 'exception',
    explain: () => 'An object cannot be sent to another process, or saved.',
    remedy:
      'Define functions and classes at the top level of a module instead of lambdas and local ones, or use no loader workers (num_workers=0); save state dicts instead of whole objects.',
    example: "AttributeError: Can't pickle local object 'main.<locals>.<lambda>'",
  },
  {
    label: 'shape_or_dtype_error',
    pattern: /torch\.embedding\(.{0,200}index out of range|srcIndex < srcSelectDimSize/,
    explain: () => 'An index is not below the number of rows of the embedding.',
    remedy:
      'Give the embedding as many rows as there are ids (resize_token_embeddings(len(tokenizer)) in Transformers), and check the largest and the smallest id of the data.',
    example: 'Indexing.cu:1290: indexSelectLargeIndex: Assertion `srcIndex < srcSelectDimSize` failed.',
  },
  {
    pattern: /\binotify.{0,120}(?:limit reached|No space left)/,
    explain: () => 'The program watches more files for changes than the system allows; no disk is full.',
    remedy: 'Switch off the automatic reload that the last frames name.',
    example: 'OSError: [Errno 28] inotify watch limit reached',
  },
  {
    label: 'permission_denied',
    pattern: /^PermissionError: \[Errno 13\] Permission denied: b?'(?<name>\/[^']{1,200})'/,
    scope: 'exception',
    explain: ({ name }) => `The program may not write or read ${name} on the VM.`,
    remedy: 'Write below the output directory (DROPFORGE_OUTPUT_DIR), the working directory or /tmp.',
    example: "PermissionError: [Errno 13] Permission denied: '/runtime'",
  },
  {
    label: 'quota_exceeded',
    pattern: /\b429 Client Error.{0,40} for url: https?:\/\/(?<name>(?![\w.-]{0,80}googleapis\.com)[\w.-]{1,120})/,
    canRetryHelp: true,
    explain: ({ name }) => `The server ${name} limits how often it is asked.`,
    remedy:
      'Copy what is downloaded to a bucket once and read it from there, or store a token of the server as a secret (for Hugging Face, HF_TOKEN), which raises the limit.',
    example: 'requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/api',
  },
  {
    label: 'not_found_data',
    pattern:
      /\[E050\] Can't find model '(?<name>[\w-]{1,80})'|\bResource .{0,12}\b(?<data>\w{3,60}).{0,8} not found\.\W.{0,20}NLTK/,
    explain: ({ name, data }) =>
      `The data ${name ?? data} of ${name === undefined ? 'NLTK' : 'spaCy'} is not on the VM.`,
    remedy:
      'Require the wheel of the model (spaCy: its address in requirements.txt), call nltk.download(NAME) before it is used, or put the files into the package.',
    example: "OSError: [E050] Can't find model 'en_core_web_sm'. It doesn't seem to be a Python package",
  },
  {
    label: 'shape_or_dtype_error',
    pattern: /could not convert string to float/,
    explain: () => 'The data has a text where a number is expected.',
    remedy:
      "Look at the text that the message quotes: encode columns of names (OneHotEncoder), read numbers with pd.to_numeric(..., errors='coerce'), and check the header, the separator and the unit.",
    example: "ValueError: could not convert string to float: '100C'",
  },
  {
    label: 'shape_or_dtype_error',
    pattern:
      /to be on the same device, but (?:found|got).{0,80}\bcpu\b|\([\w.]{0,20}cuda\.\w{1,20}Tensor\) and (?:weight|bias|hidden) type|[Ii]nput and (?:parameter|hidden) tensors are not at the same device/,
    explain: () => 'A tensor is on the CPU and another one on the GPU.',
    remedy: 'Move the model and each batch to the same device: model.to(device), batch = batch.to(device).',
    example:
      'RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!',
  },
  {
    label: 'checkpoint_corrupt',
    pattern: /UnpicklingError: invalid load key, '[v<]'|Unsupported operand (?:118|60)\b/,
    explain: () => 'The file that was to be loaded is a text.',
    remedy:
      'Read its first line. "version https://git-lfs" is a pointer of Git LFS: run git lfs pull and upload again. "<" begins a web page: download the file itself, from its direct address.',
    example: "_pickle.UnpicklingError: invalid load key, 'v'.",
  },
  {
    label: 'no_gpu_visible',
    pattern: /Attempting to deserialize object on a CUDA device/,
    explain: () => 'The file was saved on a GPU, and the program sees none.',
    remedy:
      "Write torch.load(path, map_location='cpu') if it is to run without a GPU; otherwise request one, and require the build of PyTorch for CUDA.",
    example: 'RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.',
  },
  {
    label: 'pip_install_failure',
    pattern: /DO NOT MATCH THE HASHES/,
    explain: () => 'The package index has another file for a requirement than the one whose hash is pinned.',
    remedy: 'If that is expected, write the new hashes to requirements.txt (pip-compile --generate-hashes).',
    example: 'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.',
  },
  {
    label: 'distributed_strategy_misuse',
    pattern: /finished reduction in the prior iteration|mark a variable ready only once|find_unused_parameters/,
    explain: () => 'Parameters of the model took no part in a loss, or took part twice.',
    remedy:
      "Write DistributedDataParallel(..., find_unused_parameters=True) (Lightning: strategy='ddp_find_unused_parameters_true') if parts of the model are skipped; with activation checkpointing, static_graph=True.",
    example: 'RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one.',
  },
  {
    label: 'distributed_strategy_misuse',
    pattern: /finished its bootstrapping phase|bootstrapping phase is over|freeze_support\(\)/,
    explain: () => 'The program starts processes while it is imported, and each of them imports it again.',
    remedy: "Put what the program does under if __name__ == '__main__':.",
    example:
      'RuntimeError: An attempt has been made to start a new process before the current process has finished its bootstrapping phase.',
  },
  {
    label: 'distributed_strategy_misuse',
    pattern: /Cannot re-initialize CUDA in forked subprocess/,
    explain: () => 'A process that was forked after the GPU was used cannot use it.',
    remedy:
      "Call multiprocessing.set_start_method('spawn') first, and leave tensors of the GPU out of datasets and loader workers.",
    example:
      "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, use 'spawn'",
  },
  {
    label: 'distributed_strategy_misuse',
    pattern: /doesn't have NCCL built in/,
    explain: () => 'The installed build of PyTorch has no NCCL, which connects GPUs.',
    remedy:
      "Call init_process_group('gloo') if it is to run without a GPU; otherwise require the build of PyTorch for CUDA.",
    example: "RuntimeError: Distributed package doesn't have NCCL built in",
  },
  {
    label: 'no_gpu_visible',
    pattern: /ProcessGroupNCCL is only supported with GPUs/,
    explain: () => 'NCCL connects GPUs, and the program sees none.',
    remedy: "Call init_process_group('gloo') if it is to run without a GPU; otherwise request one for each process.",
    example: 'ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!',
  },
  {
    label: 'nan_loss',
    pattern: /\b[Ii]nput (?:\w{1,20} )?contains (?:NaN|infinity)/,
    scope: 'exception',
    explain: () => 'The data has values that are missing or infinite.',
    remedy:
      'Fill them or leave the rows out (SimpleImputer, dropna), or use an estimator that accepts NaN, such as HistGradientBoostingClassifier.',
    example: 'ValueError: Input X contains NaN.',
  },
  {
    pattern: /(?<=in get_loc\b.{0,300})KeyError: '(?<name>[^']{1,100})'/,
    explain: ({ name }) => `The table has no column or row ${name}.`,
    remedy:
      'Compare it with the header of the file (print(df.columns)): spelling, spaces, the separator (sep) and a missing header.',
    example: '  File "/v/pandas/core/indexes/base.py", line 3812, in get_loc raise KeyError(key) KeyError: \'label\'',
  },
  {
    label: 'not_found_data',
    pattern: /^\w{0,60}(?:Error|Exception): .{0,60}\b[Nn]o (?:valid )?checkpoints? (?:was |were )?found/,
    scope: 'exception',
    explain: () => 'There is no checkpoint to continue from, as in the first attempt of a job.',
    remedy:
      'Continue only if there is one (Transformers: get_last_checkpoint(output_dir) returns None otherwise), and save below the output directory, from which attempts are restored.',
    example: 'ValueError: No valid checkpoint found in output directory (out)',
  },
  {
    label: 'import_error',
    pattern: /attempted relative import with no known parent package/,
    explain: () => 'A file of a package was started as a script.',
    remedy:
      'Name it as a module of its package (module: PACKAGE.FILE), or write the name of the package in its imports.',
    code: 'PROGRAM_FAILED',
    example: 'ImportError: attempted relative import with no known parent package',
  },
  {
    label: 'checkpoint_corrupt',
    pattern: /(?:Missing|Unexpected) key\(s\) in state_dict|size mismatch for \S+ copying a param/,
    explain: () => 'The checkpoint is of another model than the one that the program builds.',
    remedy:
      'Build the model with the arguments with which the checkpoint was saved; if only a part is to be loaded, write load_state_dict(..., strict=False).',
    example: 'Missing key(s) in state_dict: "fc.weight". ',
  },
  {
    label: 'pip_install_failure',
    pattern: /satisfies the requirement (?<name>[\w.-]{1,100})[^\n]{0,200}\(from versions: none\)/,
    explain: ({ name = '' }) => `The package index has no package ${name}.${describeNearest(name)}`,
    remedy: 'Correct its name in requirements.txt, pyproject.toml or setup.py, or add the index that has it.',
    example: 'ERROR: Could not find a version that satisfies the requirement scikit-lern (from versions: none)',
  },
  {
    label: 'build_failure',
    pattern: /BackendUnavailable: Cannot import '(?<name>[\w.]{1,100})'/,
    explain: ({ name }) => `The package is built by ${name}, which is not installed.`,
    remedy:
      'Name what brings it under requires of [build-system] in pyproject.toml, or submit a wheel (pip wheel --no-deps .).',
    example: "pip._vendor.pyproject_hooks._impl.BackendUnavailable: Cannot import 'poetry.core.masonry.api'",
  },
];

export const KNOWN_CAUSE_RULES: readonly Rule[] = KNOWN_CAUSES.map(toRule);
