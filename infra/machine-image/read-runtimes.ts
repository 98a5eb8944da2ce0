import * as z from 'zod';
import data from './runtimes.json' with { type: 'json' };

/** A runtime version as in job files (docs/job-file.md, `runtime`). */
const versionSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/);

/** `name==1.2.3`, optionally with extras and a local version: exact pins make builds reproducible. */
const pinSchema = z.string().regex(/^[A-Za-z0-9._-]+(\[[a-z-]+\])?==\d+(\.\d+)+(\.dev\d+)?(\+[a-z0-9]+)?$/);

const runtimeSchema = z.strictObject({
  name: versionSchema,
  /** Display name of the contents. */
  title: z.string().min(1),
  pythonVersion: z.string().regex(/^3\.\d{1,2}$/),
  /** That of the base image, in Compute Engine's names. */
  architecture: z.enum(['X86_64', 'ARM64']).default('X86_64'),
  /** Base image: the newest public image of the family. */
  base: z.strictObject({ project: z.string().min(1), family: z.string().min(1) }),
  driver: z.strictObject({
    branch: z.string().regex(/^\d{3}$/),
    /** Blackwell supports only the open modules, Pascal and Volta only the proprietary ones. */
    modules: z.enum(['proprietary', 'open']),
    /** Whether the base image contains the driver. */
    isInBase: z.boolean(),
  }),
  /** CUDA version of the packages; the driver supports all versions up to its own. */
  cudaVersion: z.string().regex(/^\d+(\.\d+)?$/),
  packages: z.array(pinSchema).min(1),
  extraIndexUrls: z.array(z.url()),
  /** Modules that must be importable in the image. */
  imports: z.array(z.string().regex(/^[a-z_]+(\.[a-z_]+)*$/)).min(1),
  /** GPUs that driver and framework support, by Compute Engine's names. */
  gpus: z.array(z.string()).min(1),
  /** Number of machine images; 0 if its machine types boot only from the custom image. */
  copies: z.int().min(0).max(20),
  /** Versions in job files that this runtime replaces, with a note on the differences. */
  aliases: z.array(z.strictObject({ versions: z.array(versionSchema).min(1), note: z.string().min(1) })),
});

/** Schema of `runtimes.json`. */
export const runtimesSchema = z.strictObject({
  /** Runtime of jobs that name none. */
  default: versionSchema,
  /** Disk with which images are built; part of a machine image. */
  disk: z.strictObject({ sizeGib: z.int().min(10), type: z.enum(['pd-ssd', 'pd-balanced', 'pd-standard']) }),
  sources: z.array(z.string()),
  runtimes: z.array(runtimeSchema).min(1),
});

export type Runtimes = z.infer<typeof runtimesSchema>;
export type Runtime = Runtimes['runtimes'][number];

/** The default runtimes of Dropforge. */
export const RUNTIMES: Runtimes = runtimesSchema.parse(data);

/** The default runtime for a version in a job file, or for a job that names none; undefined if there is none. */
export function runtimeFor(version: string | undefined): Runtime | undefined {
  const wanted = version ?? RUNTIMES.default;
  const replaces = ({ name, aliases }: Runtime) =>
    name === wanted || aliases.some((one) => one.versions.includes(wanted));
  return RUNTIMES.runtimes.find(replaces);
}

/** Version of an image build, the last part of image names. */
const BUILD_PATTERN = /^v[a-z0-9]{1,20}$/;

export function isBuild(text: string): boolean {
  return BUILD_PATTERN.test(text);
}

/** Names of one build's images: `dropforge-2-20-v20261121`, and `…-a`, `…-b` for the machine images. */
export function imageNamesOf(runtime: Runtime, build: string) {
  const image = `dropforge-${runtime.name.replaceAll(/[^a-z0-9]+/g, '-')}-${build}`;
  const copies = Array.from({ length: runtime.copies }, (_, index) => String.fromCharCode(0x61 + index));
  return { image, machineImages: copies.map((copy) => `${image}-${copy}`) };
}

export type RuntimeImageEntry =
  | {
      readonly machineImages: readonly string[];
      readonly image: string;
      /** X86_64 if missing, as in Terraform. */
      readonly architecture?: 'ARM64';
      readonly pythonVersion: string;
      readonly gpus: readonly string[];
      readonly runtime?: never;
    }
  /** The runtime that replaces this version, and a note on the differences. */
  | { readonly runtime: string; readonly note: string };

type BuildOptions = { readonly projectId: string; readonly build: string };

/** The entry of one runtime in the setting RUNTIME_IMAGES. */
export function runtimeImageOf(runtime: Runtime, { projectId, build }: BuildOptions) {
  const { image, machineImages } = imageNamesOf(runtime, build);
  const prefix = `projects/${projectId}/global`;
  return {
    machineImages: machineImages.map((name) => `${prefix}/machineImages/${name}`),
    image: `${prefix}/images/${image}`,
    ...(runtime.architecture === 'ARM64' && { architecture: runtime.architecture }),
    pythonVersion: runtime.pythonVersion,
    gpus: runtime.gpus,
  };
}

/**
 * Returns the setting RUNTIME_IMAGES for the default images of one build: every runtime, and every version that one
 * replaces. Image names are full names, so that other projects can use them. Terraform's name is `runtime_images`.
 */
export function runtimeImagesFor({ projectId, build }: BuildOptions) {
  const images: Record<string, RuntimeImageEntry> = {};
  for (const runtime of RUNTIMES.runtimes) {
    images[runtime.name] = runtimeImageOf(runtime, { projectId, build });
    for (const { versions, note } of runtime.aliases) {
      for (const version of versions) {
        images[version] = { runtime: runtime.name, note };
      }
    }
  }
  return images;
}

/** Returns the same as Terraform variables, for a file called `runtimes.auto.tfvars.json`. */
export function runtimeVariablesFor(options: BuildOptions) {
  const entries = Object.entries(runtimeImagesFor(options));
  return {
    jobs: { runtime_version: RUNTIMES.default },
    runtime_images: Object.fromEntries(
      entries.map(([version, entry]) => {
        if (entry.runtime !== undefined) {
          return [version, entry];
        }
        const { machineImages, pythonVersion, ...others } = entry;
        return [version, { machine_images: machineImages, python_version: pythonVersion, ...others }];
      }),
    ),
  };
}
