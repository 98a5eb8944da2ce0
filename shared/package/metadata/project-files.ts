/** The texts of a directory's build files; null if a file does not exist. */
export type ProjectFiles = {
  readonly setupScript: string | null;
  readonly setupConfig: string | null;
  readonly pyproject: string | null;
};

const SETUP_CONFIG_SECTION = /^\[(?:metadata|options)\]/m;
/** Poetry builds no such project. */
const NON_PACKAGE_MODE = /^[ \t]*package-mode[ \t]*=[ \t]*false/m;
const BUILD_TABLE = /^[ \t]*\[(?:build-system|tool\.setuptools)\b/m;

/**
 * Whether pip installs the directory. A pyproject.toml without a build system only lists the dependencies of sources,
 * as in uv; a setup.cfg may contain nothing but the settings of other tools.
 */
export function isInstallable({ setupScript, setupConfig, pyproject }: ProjectFiles): boolean {
  const isBuilt = BUILD_TABLE.test(pyproject ?? '') && !NON_PACKAGE_MODE.test(pyproject ?? '');
  return setupScript !== null || SETUP_CONFIG_SECTION.test(setupConfig ?? '') || isBuilt;
}

/** Whether an installable directory states its dependencies itself; pip then installs these. */
export function declaresDependencies({ setupScript, setupConfig, pyproject }: ProjectFiles): boolean {
  return (
    /\binstall_requires\b/.test(`${setupScript ?? ''}\n${setupConfig ?? ''}`) ||
    /(?:^|[\s"'.[])dependencies\b/.test(pyproject ?? '')
  );
}
