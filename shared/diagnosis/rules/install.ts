import { describeMissing } from '#shared/diagnosis/rules/module-names.ts';
import type { Rule } from '#shared/diagnosis/rules/rule.ts';

/**
 * A setup.py that fails to import prints an ImportError, so the rules for building come before those for importing. pip
 * prints "Could not find a version" at the end also after network errors and conflicts, so it comes last.
 */
export const BUILD_RULES: readonly Rule[] = [
  {
    label: 'pip_resolution_conflict',
    patterns: [
      /conflicting dependencies/i,
      /ResolutionImpossible/i,
      /Could not find a version that matches\b/i,
      /ContextualVersionConflict/i,
      /pkg_resources\.(?:\w+\.)?VersionConflict/i,
      /version solving failed/i,
      /Could not solve for environment/i,
      /No solution found when resolving/i,
      /The conflict is caused by/i,
      /UnsatisfiableError/i,
      /incompatible with each other|incompatible versions in the resolved/i,
    ],
    example:
      'ERROR: Cannot install -r req.txt (line 12) and numpy==1.19.2 because these package versions have conflicting dependencies.',
  },
  {
    label: 'build_failure',
    patterns: [
      /Failed (?:building|to build)\b/i,
      /metadata-generation-failed/i,
      /(?:Getting requirements to build|Preparing metadata|Building wheel|Preparing editable|python setup\.py \w+|\binstall(?:ing)? \w+ dependencies).{0,80}did not run successfully/i,
      /error: command .{0,160} failed/i,
      /Command errored out with exit status/i,
      /setup\.py'?,? '?(?:egg_info|bdist_wheel)/i,
      /fatal error: \S+\.h(?:pp)?: No such file/i,
      /ninja: build stopped/i,
      /CMake .{0,40}(?:is required|must be installed|not found)/i,
      /Cython\.Compiler\.Errors|cython .{0,40}(?:not found|required)/i,
      /cannot find -l\w+/i,
      /(?<!JIT |nvrtc )compilation (?:terminated|failed)|Compilation error/i,
      /error: (?:Python\.h|invalid command 'bdist_wheel')/i,
      /\b(?:nvcc|gcc)\b:? ?(?:fatal|error)/i,
      /Error (?:building|compiling) (?:extension|objects)/i,
      /CUDA_HOME environment variable is not set/i,
      /CMake Error/i,
      /Microsoft Visual C\+\+ \S+ (?:or greater )?is required/i,
      /legacy-install-failure/i,
      /undefined reference to|unresolved external symbol|\berror (?:LNK|C)\d{4}: /i,
      /error: identifier ".{0,60}" is undefined/i,
      /unsupported (?:GNU|Microsoft Visual Studio) version/i,
      /error: #error/i,
      /Build failed/i,
      /BackendUnavailable/i,
      /can't find Rust compiler/i,
      /CalledProcessError: Command '\['?(?:[^' ]{1,200}\/)?(?:cmake|ninja|which|gcc|g\+\+|cc|c\+\+|clang|nvcc|make)'/i,
      /process .{0,20}sh -c .{0,400}did not complete successfully/i,
      /\bunable to compile\b/i,
      /The detected CUDA version .{0,40}mismatches/i,
      /no acceptable C compiler/i,
      /pg_config executable not found/i,
      /\bnvc(?:\+\+)?-Error-/,
      /build backend (?:failed|returned an error|raised)/i,
      /build-system\.requires|as a build dependency|no-build-isolation/i,
      /\b(?:nvcc|gcc|g\+\+|cc|c\+\+|clang|cmake|ninja|make|rustc|cargo|swig|gfortran)(?:\.exe)?:(?: command)? not found/i,
      /\bFile "(?:[^"]{1,200}[/\\])?setup\.py", line \d/,
      /\b_?(?:distutils|setuptools)\W(?:command\W)?(?:build|bdist|install|develop|egg_info|cmd|dist|core|\w{0,20}ccompiler)\w*\.py", line \d/,
    ],
    unless: /Created wheel|\.{3} done|git clone|pip-compatible/,
    example: 'ERROR: Failed building wheel for fbprophet',
  },
];

export const PIP_RULES: readonly Rule[] = [
  {
    label: 'pip_install_failure',
    patterns: [
      /No matching distribution found/i,
      /\/tmp\/pip-\S{1,60}setup\.py'/i,
      /is not installable\. File 'setup\.py' not found/i,
      /Failed to install/i,
      /Could not find a version that satisfies/i,
      /ResolvePackageNotFound/i,
      /In --require-hashes mode/i,
      /Could not open requirements file/i,
      /Invalid requirement/i,
      /\bRequested \S{1,200} .{0,80}has invalid metadata|suffix can only be used with/i,
      /exit status 128: git\b/i,
      /git clone .{0,200}(?:did not run successfully|failed with (?:error|exit))/i,
      /Could not install packages due to/i,
      /ERROR: Package '.{0,80}' requires/i,
      /InvalidVersion/i,
      /Could not install requirement/i,
      /Cannot uninstall '/i,
      /PackagesNotFoundError|\bConda\w{0,40}(?:Error|Exception)\b/,
      /error: externally-managed-environment/i,
      /Command .{0,60}pip\S* .{0,80}install.{0,200}non-zero/i,
      /error in \S+ setup command/i,
      /Neither 'setup\.py' nor 'pyproject\.toml' found/i,
    ],
    unless: /The candidate selected for download|WARNING: The candidate/,
    example: 'ERROR: No matching distribution found for torch==0.3.1',
  },
];

const MODULE_NAME = /(?:ModuleNotFoundError|ImportError)\b.{0,40}No module named '?(?<name>[\w.-]+)/;

/** Order: what Python cannot start, then modules that are missing, then modules and libraries that do not fit. */
export const IMPORT_RULES: readonly Rule[] = [
  {
    label: 'import_error',
    patterns: [/\S*python[\d.]*: (?:No module named|Error while finding module specification for) '?(?<name>[\w.]+)/],
    scope: 'last',
    code: 'PROGRAM_NOT_FOUND',
    remedy:
      'Correct module (pythonModule), or have the package contain it: find_packages() finds only folders with an __init__.py.',
    explain: ({ name }) => `Python found no module ${name} in what was installed.`,
    example: '/usr/bin/python3: No module named trainer.task',
  },
  {
    label: 'import_error',
    patterns: [/\S*python[\d.]*: can't (?:open file|find) '?(?<name>[^':]{1,300})/],
    scope: 'last',
    code: 'PROGRAM_NOT_FOUND',
    remedy: 'Correct module (pythonModule) or the path of the script, or have the package contain it.',
    explain: ({ name }) => `Python found no program ${name}.`,
    example: "/v/bin/python3.12: can't open file '/h/work/train.py': [Errno 2] No such file",
  },
  {
    label: 'import_error',
    patterns: [MODULE_NAME],
    scope: 'exception',
    explain: ({ name = '' }) => describeMissing(name),
    example: "ModuleNotFoundError: No module named 'torch'",
  },
  {
    // The message of an optional requirement: the module's own message names what to install.
    label: 'import_error',
    patterns: [/^(?:ModuleNotFoundError|ImportError)\b.*(?:[Mm]issing (?:optional )?dependency|[Ii]nstall\b)/],
    scope: 'exception',
    example: "ImportError: Missing optional dependency 'openpyxl'. Use pip to install openpyxl.",
  },
  {
    label: 'import_error',
    patterns: [/(?<library>lib[\w.+-]{1,80}\.so[\d.]*): cannot open shared object file/],
    unless: /Could not load dynamic library|Could not load library|dlerror/,
    code: 'IMPORT_FAILED',
    remedy:
      'A module was built for other library versions than the image has. Install the build for the CUDA version of this runtime, or choose the runtime that has the library.',
    explain: ({ library }) => `The library ${library} is not on the VM: a module was built for other versions.`,
    example: 'ImportError: libcudart.so.8.0: cannot open shared object file: No such file or directory',
  },
  {
    label: 'import_error',
    // A file of the program itself, outside of site-packages: its own mistake, but an import error all the same.
    patterns: [
      /^ImportError\b.*cannot import name '?(?<name>\w+)'?\sfrom\s'?(?<origin>[\w.]+)'? \((?!unknown location)(?:(?!\/site-packages\/|\/dist-packages\/|\/lib\/python\d)[^)]){1,300}\)/,
    ],
    scope: 'exception',
    code: 'PROGRAM_FAILED',
    explain: ({ name, origin }) => `The program's own module ${origin} has no ${name}.`,
    example: "ImportError: cannot import name 'f' from 'trainer.util' (/h/sources/0/trainer/util.py)",
  },
  {
    label: 'import_error',
    patterns: [/^ImportError\b.*cannot import name '?(?<name>\w+)'?(?:\sfrom\s'?(?<origin>[\w.]+)'?)?/],
    scope: 'exception',
    code: 'IMPORT_FAILED',
    explain: ({ name, origin }) => `The installed version of ${origin ?? 'a module'} has no ${name}.`,
    example: "ImportError: cannot import name 'x' from 'y'",
  },
  {
    label: 'import_error',
    patterns: [
      /^ImportError\b/,
      /^(?:Value|Runtime|Type)Error: .{0,60}size changed, may indicate binary incompatibility/,
      /operator \w+::\w+ does not exist/,
      /Failed to import \S+/,
      /DistributionNotFound/,
      /\b(?:is|are) not installed\b(?! as)|Cannot find a working \w+ installation/,
    ],
    scope: 'exception',
    code: 'IMPORT_FAILED',
    example: 'ImportError: /v/flash_attn.so: undefined symbol: _ZN3c104cuda',
  },
  {
    label: 'import_error',
    patterns: [
      /undefined symbol: \w/,
      /A module that was compiled using NumPy/,
      /version `(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+' not found/,
      /ModuleNotFoundError: No module named '(?!google\.appengine)/,
      /ImportError: (?:libGL|cannot import|No module named)/,
    ],
    unless: /Unable to|TF-TRT|google\.appengine/,
    code: 'IMPORT_FAILED',
    example: 'OSError: /v/libtorch_cuda_cpp.so: undefined symbol: cudaGraphInstantiateWithFlags, version libcudart.so',
  },
];
