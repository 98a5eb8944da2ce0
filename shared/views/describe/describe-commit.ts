import type { GitCommit } from '#shared/domain/git-commit.ts';

const KNOWN_REMOTE = /^(?:https:\/\/|(?:ssh:\/\/)?git@)(git(?:hub|lab)\.com)[/:]([\w.-]+\/[\w.-]+?)(?:\.git)?\/?$/;

/** `0123abc…, with changes, of https://github.com/ada/digits`. */
export function describeCommit({ commit, remote, isDirty }: GitCommit): string {
  return `${commit}${isDirty ? ', with changes' : ''}${remote === null ? '' : `, of ${remote}`}`;
}

/** The page of the commit on a host whose addresses are known; null for other remotes. */
export function addressOfCommit({ commit, remote }: GitCommit): string | null {
  const [, host, repository] = KNOWN_REMOTE.exec(remote ?? '') ?? [];
  return host === undefined ? null : `https://${host}/${repository}/commit/${commit}`;
}
