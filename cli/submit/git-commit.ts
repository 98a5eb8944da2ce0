import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { PackageSource } from '#cli/submit/package-source.ts';
import { isFile } from '#cli/submit/source-files.ts';
import { type GitCommit, gitCommitSchema } from '#shared/domain/git-commit.ts';

const GIT_MS_MAX = 5_000;

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
    const options = ['--no-optional-locks', '-c', 'core.fsmonitor=false', '-C', isInProject ? dirname(path) : path];
    const { stdout } = await promisify(execFile)('git', [...options, ...args], { timeout: GIT_MS_MAX });
    return stdout;
  };
  try {
    const status = await git('status', '--porcelain=v2', '--branch', '--', '.');
    const address = await git('remote', 'get-url', 'origin').catch(() => '');
    const commit = /^# branch\.oid (\S+)$/m.exec(status)?.[1];
    // Tokens are part of the addresses of some clones.
    const remote = address.trim().replace(/^(https?:\/\/)[^/]*@/, '$1');
    return gitCommitSchema.parse({ commit, remote, isDirty: /^[^#]/m.test(status) });
  } catch {
    return undefined;
  }
}
