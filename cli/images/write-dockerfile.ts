import { posix } from 'node:path';
import { Failure } from '#cli/core/failure.ts';
import type { Base } from '#cli/images/choose-base.ts';
import { PIP_SECRET } from '#cli/images/pip-configuration.ts';
import type { ProgramToBuild } from '#cli/images/read-program.ts';

const ROOT = '/app';
/** Numeric, so that any base image has it; names and home are for libraries that look their user up. */
const USER = '1000:1000';
const HOME = '/home/trainer';
const PIP = 'python3 -m pip install';
/** A secret is in no layer and no history; `required` fails a build by hand that forgets it. */
const PIP_WITH_SECRET = [
  `--mount=type=secret,id=${PIP_SECRET.id},required=true`,
  `PIP_CONFIG_FILE=${PIP_SECRET.path}`,
  PIP,
].join(' ');

/**
 * Writes the Dockerfile of a Python program. What changes least comes first: runtime, requirements, sources. Equal
 * inputs give equal texts. Throws Failure for a requirement that a Dockerfile cannot contain.
 *
 * @param hasPipSecret whether pip reads its configuration from a secret of the build
 */
export function writeDockerfile(base: Base, program: ProgramToBuild, hasPipSecret: boolean): string {
  const { requirementFiles, includedFiles, needsSources, requirements, layout } = program;
  const files = [...requirementFiles, ...includedFiles].toSorted();
  const pip = hasPipSecret ? PIP_WITH_SECRET : PIP;
  const install = (packages: readonly string[]) => installOf(pip, packages, base.extraIndexUrls);
  const installFiles = requirementFiles.map((path) => `RUN ${pip} -r ${quote(path)}`);
  const sections = [
    [`# Written by dropforge images build, for ${base.title}`, `FROM ${base.image}`],
    // For an image of FROM that has a USER.
    ['USER root'],
    [
      'ENV PYTHONUNBUFFERED=1 \\',
      '    PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore \\',
      // Debian and Ubuntu refuse to install beside their own packages (PEP 668), and an image has no others.
      '    PIP_BREAK_SYSTEM_PACKAGES=1 \\',
      `    HOME=${HOME} USER=trainer LOGNAME=trainer`,
    ],
    [`RUN mkdir -p ${ROOT} ${HOME} && chown ${USER} ${ROOT} ${HOME}`],
    base.packages.length === 0 ? [] : ['# The packages of the runtime', install(base.packages)],
    [`WORKDIR ${ROOT}`],
    requirements.length === 0
      ? []
      : ['# Requirements, which change less often than the sources', install(requirements)],
    files.length === 0 || needsSources
      ? []
      : [
          '# Requirements, which change less often than the sources',
          ...files.map((path) => copyOf(path)),
          ...installFiles,
        ],
    [`COPY --chown=${USER} . .`],
    needsSources ? installFiles : [],
    layout.style === 'PROJECT' ? [`RUN ${pip} .`] : [`ENV PYTHONPATH=${pythonPathOf(program)}`],
    [`USER ${USER}`, `ENTRYPOINT ${JSON.stringify(commandOf(program))}`],
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function installOf(pip: string, requirements: readonly string[], extraIndexUrls: readonly string[]): string {
  const options = extraIndexUrls.map((url) => `--extra-index-url ${quote(url)}`);
  return [`RUN ${pip}`, ...options, ...requirements.map(quote)].join(' \\\n    ');
}

/** A word for the shell of RUN. */
function quote(text: string): string {
  if (/\p{Cc}/u.test(text)) {
    throw new Failure(`The requirement ${JSON.stringify(text).slice(0, 200)} contains a control character. Remove it.`);
  }
  return /^[\w./:=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
}

function copyOf(path: string): string {
  const target = posix.dirname(path) === '.' ? './' : `./${posix.dirname(path)}/`;
  return /^[\w./-]+$/.test(path) ? `COPY ${path} ${target}` : `COPY ${JSON.stringify([path, target])}`;
}

/** Modules beside the program are imported from where the package's root is, as on a VM. */
function pythonPathOf({ layout }: ProgramToBuild): string {
  return layout.importRoots.map((root) => posix.join(ROOT, root)).join(':');
}

function commandOf({ module, script, layout }: ProgramToBuild): readonly string[] {
  if (script !== null) {
    return [script];
  }
  return layout.program?.kind === 'SCRIPT' ? ['python3', module] : ['python3', '-m', module];
}
