import { execFile } from 'node:child_process';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { PackageSource } from '#cli/submit/package-source.ts';
import { isFile } from '#cli/submit/source-files.ts';
import { type GitCommit, gitCommitSchema } from '#shared/domain/git-commit.ts';
import { EXCLUDED_NAME } from '#shared/package/source-names.ts';

const GIT_MS_MAX = 5_000;

/** Without them, files of a folder that another person wrote would be a repository, or programs would be started. */
const SAFE_OPTIONS = ['core.fsmonitor=false', 'protocol.allow=never', 'safe.bareRepository=explicit'];

/** Options that start programs: filters, and the transports by which a partial clone fetches what it lacks. */
const STARTS_PROGRAM = /^(?:filter|protocol)\./;

/** The commit of the first local folder or program; undefined if it is in no repository, or Git does not say. */
export async function readGitCommit(packages: readonly PackageSource[]): Promise<GitCommit | undefined> {
  const source = packages.find((one) => 'path' in one && (one.kind !== 'ARCHIVE' || one.path.endsWith('.py')));
  if (source === undefined || !('path' in source)) {
    return undefined;
  }
  const { path } = source;
  // The archive of a Python package includes the files of its project, which lie around it.
  const isInProject = path.endsWith('.py') || (await isFile(join(path, '__init__.py')));
  const git = async (...args: readonly string[]) => {
    const options = ['--no-optional-locks', '-C', isInProject ? dirname(path) : path];
    const safe = SAFE_OPTIONS.flatMap((option) => ['-c', option]);
    const { stdout } = await promisify(execFile)('git', [...options, ...safe, ...args], { timeout: GIT_MS_MAX });
    return stdout;
  };
  try {
    const options = (await git('config', '--list', '--name-only', '--null')).split('\0');
    const unsafe = options.filter((option) => STARTS_PROGRAM.test(option));
    // `-c` could not override it.
    if (unsafe.some((option) => option.includes('='))) {
      return undefined;
    }
    const overrides = unsafe.flatMap((option) => ['-c', `${option}=`]);
    // The options of a submodule are its own, so that its files are not compared.
    const status = await git(...overrides, 'status', '--porcelain=v2', '--branch', '--ignore-submodules=dirty', '.');
    const address = await git('remote', 'get-url', 'origin').catch(() => '');
    const commit = /^# branch\.oid (\S+)$/m.exec(status)?.[1];
    // Tokens are part of the addresses of some clones.
    const remote = address.trim().replace(/^(https?:\/\/)[^/]*@/, '$1');
    return gitCommitSchema.parse({ commit, remote, isDirty: status.split('\n').some(isChange) });
  } catch {
    return undefined;
  }
}

/** Whether a line of the status is a change of what is packed; a new file can be one that no package has. */
function isChange(line: string): boolean {
  return /^[^#]/.test(line) && !(line.startsWith('? ') && EXCLUDED_NAME.test(basename(line.slice('? '.length))));
}
