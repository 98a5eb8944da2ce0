import { UsageFailure } from '#cli/core/failure.ts';
import { RUNTIMES, type Runtime } from '#infra/machine-image/read-runtimes.ts';
import { createFindings } from '#shared/job-file/parser/findings.ts';
import { checkImage } from '#shared/job-file/validation/check-container.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

/** What a generated image starts from. */
export type Base = {
  /** A comment of one line. */
  readonly title: string;
  readonly image: string;
  /** Packages of the runtime to install, as pip's exact pins; none for a base image of the user's own. */
  readonly packages: readonly string[];
  readonly extraIndexUrls: readonly string[];
  /** What differs from the requested version; null if nothing does. */
  readonly note: string | null;
};

type BaseOptions = {
  readonly runtime: string | undefined;
  readonly baseImage: string | undefined;
  /** The runtime version of the job file in the folder. */
  readonly ofJobFile: string | undefined;
};

/**
 * Chooses by `--base-image`, `--runtime`, the job file, and the default. Throws UsageFailure for a `--runtime` that no
 * runtime has or replaces; one of the job file can be the deployment's own.
 */
export function chooseBase({ runtime: version, baseImage, ofJobFile }: BaseOptions): Base {
  if (baseImage !== undefined) {
    if (version !== undefined) {
      throw new UsageFailure('--runtime and --base-image are mutually exclusive: the base image contains the runtime.');
    }
    const image = readImage('--base-image', baseImage);
    return { title: 'a base image of its own', image, packages: [], extraIndexUrls: [], note: null };
  }
  const { runtime, note } = version === undefined ? runtimeOfJobFile(ofJobFile) : requireRuntime(version);
  return {
    title: `runtime ${runtime.name}: ${runtime.title}`,
    // With compilers and git, as machine images have them: not every requirement is a wheel.
    image: `docker.io/library/python:${runtime.pythonVersion}-bookworm`,
    packages: runtime.packages,
    extraIndexUrls: runtime.extraIndexUrls,
    note,
  };
}

type Found = { readonly runtime: Runtime; readonly note: string | null };

function requireRuntime(version: string): Found {
  const found = findRuntime(version);
  if (found === undefined) {
    const names = RUNTIMES.runtimes.map(({ name }) => name);
    throw new UsageFailure(
      `--runtime ${version} is not a known runtime. ${didYouMean(version, names)}The runtimes are ${names.join(', ')}; --base-image names any other image.`,
    );
  }
  return found;
}

function runtimeOfJobFile(version: string | undefined): Found {
  const found = version === undefined ? undefined : findRuntime(version);
  const { runtime } = found ?? requireRuntime(RUNTIMES.default);
  const isUnknown = version !== undefined && found === undefined;
  const unknown = `The runtime ${version} of the job file is not known here, so the image has ${runtime.name}: choose another one with --runtime or --base-image.`;
  return found ?? { runtime, note: isUnknown ? unknown : null };
}

function findRuntime(version: string): Found | undefined {
  for (const runtime of RUNTIMES.runtimes) {
    if (runtime.name === version) {
      return { runtime, note: null };
    }
    const alias = runtime.aliases.find(({ versions }) => versions.includes(version));
    if (alias !== undefined) {
      return { runtime, note: `Runtime ${version} is replaced by ${runtime.name}. ${alias.note}` };
    }
  }
  return undefined;
}

/** Returns the image reference; throws UsageFailure with its problem. */
export function readImage(flag: string, text: string): string {
  const findings = createFindings();
  const image = checkImage({ path: flag, value: text }, findings);
  if (image === null) {
    const [problem] = findings.problems;
    throw new UsageFailure(`${problem?.message} ${problem?.remedy}`);
  }
  return image;
}
