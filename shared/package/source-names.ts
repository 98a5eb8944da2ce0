/**
 * Never part of a package: caches, leftovers of installations, hidden files and folders, and the credentials that
 * google-github-actions/auth writes into the workspace.
 */
export const EXCLUDED_NAME = /^(\..*|__pycache__|.*\.py[co]|.*\.egg-info|node_modules|gha-creds-.*\.json)$/;

/** Marks the folder of a virtual environment (Python's `venv`), which some projects keep beside their code. */
export const ENVIRONMENT_FILE = 'pyvenv.cfg';

/** Marks a folder with the outputs of a job, which packages leave out; Git ignores it by the same file. */
export const OUTPUTS_IGNORE_FILE = {
  name: '.gitignore',
  text: '# Outputs of a job, copied by dropforge run.\n*\n',
} as const;

export const SOURCE_FILES_MAX = 20_000;
