/** Never part of a package: caches, leftovers of installations, and hidden files and folders. */
export const EXCLUDED_NAME = /^(\..*|__pycache__|.*\.py[co]|.*\.egg-info|node_modules)$/;

/** Marks the folder of a virtual environment (Python's `venv`), which some projects keep beside their code. */
export const ENVIRONMENT_FILE = 'pyvenv.cfg';

export const SOURCE_FILES_MAX = 20_000;
