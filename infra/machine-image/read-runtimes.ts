import { z } from 'zod';
import data from './runtimes.json' with { type: 'json' };

/** As job files may write it (docs/job-file.md, `runtime`). */
const versionSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/);

/** `name==1.2.3`, perhaps with extras and a local part: nothing is left to the day on which the image is made. */
const pinSchema = z.string().regex(/^[A-Za-z0-9._-]+(\[[a-z-]+\])?==\d+(\.\d+)+(\+[a-z0-9]+)?$/);

const runtimeSchema = z.strictObject({
  name: versionSchema,
  /** What is in it, for people. */
  title: z.string().min(1),
  pythonVersion: z.string().regex(/^3\.\d{1,2}$/),
  /** The public image that it is built on: the newest of the family. */
  base: z.strictObject({ project: z.string().min(1), family: z.string().min(1) }),
  driver: z.strictObject({
    branch: z.string().regex(/^\d{3}$/),
    /** Blackwell takes the open modules alone; Pascal and Volta the proprietary ones alone. */
    modules: z.enum(['proprietary', 'open']),
    /** The base image brings the driver along. */
    isInBase: z.boolean(),
  }),
  /** CUDA as the packages bring it; the driver runs all of CUDA up to its own. */
  cudaVersion: z.string().regex(/^\d+(\.\d+)?$/),
  packages: z.array(pinSchema).min(1),
  extraIndexUrls: z.array(z.url()),
  /** Modules that are imported before an image counts as made. */
  imports: z.array(z.string().regex(/^[a-z_]+$/)).min(1),
  /** The GPUs that driver and framework are made for, as Compute Engine spells them. */
  gpus: z.array(z.string()).min(1),
  /** How many machine images; 0 where its machines boot from the custom image alone. */
  copies: z.int().min(0).max(20),
  /** Versions in people's files that get this image, with what they have to know. */
  aliases: z.array(z.strictObject({ versions: z.array(versionSchema).min(1), note: z.string().min(1) })),
});

/** What `runtimes.json` is. */
export const runtimesSchema = z.strictObject({
  /** What jobs get that name no runtime. */
  default: versionSchema,
  /** The disk that images are made with: a machine image keeps it. */
  disk: z.strictObject({ sizeGib: z.int().min(10), type: z.enum(['pd-ssd', 'pd-balanced', 'pd-standard']) }),
  sources: z.array(z.string()),
  runtimes: z.array(runtimeSchema).min(1),
});

export type Runtimes = z.infer<typeof runtimesSchema>;
export type Runtime = Runtimes['runtimes'][number];

/** The default runtimes of Dropforge. */
export const RUNTIMES: Runtimes = runtimesSchema.parse(data);

/** The last part of image names: which making of the image it is. */
const BUILD_PATTERN = /^v[a-z0-9]{1,20}$/;

export function isBuild(text: string): boolean {
  return BUILD_PATTERN.test(text);
}

/** The names in the project of one build's images: `dropforge-2-20-v20261121`, and `…-a`, `…-b` for its copies. */
export function imageNamesOf(runtime: Runtime, build: string) {
  const image = `dropforge-${runtime.name.replaceAll(/[^a-z0-9]+/g, '-')}-${build}`;
  const copies = Array.from({ length: runtime.copies }, (_, index) => String.fromCharCode(0x61 + index));
  return { image, machineImages: copies.map((copy) => `${image}-${copy}`) };
}

export type RuntimeImageEntry =
  | {
      readonly machineImages: readonly string[];
      readonly image: string;
      readonly pythonVersion: string;
      readonly runtime?: never;
    }
  /** The runtime that stands in for this version, and what is different there. */
  | { readonly runtime: string; readonly note: string };

/**
 * RUNTIME_IMAGES of a deployment that has the default images of one build: every runtime, and every version that one
 * stands in for. Full names, so that other projects can boot from them too. In Terraform it is `runtime_images`.
 */
export function runtimeImagesFor({ projectId, build }: { readonly projectId: string; readonly build: string }) {
  const images: Record<string, RuntimeImageEntry> = {};
  for (const runtime of RUNTIMES.runtimes) {
    const { image, machineImages } = imageNamesOf(runtime, build);
    const place = `projects/${projectId}/global`;
    images[runtime.name] = {
      machineImages: machineImages.map((name) => `${place}/machineImages/${name}`),
      image: `${place}/images/${image}`,
      pythonVersion: runtime.pythonVersion,
    };
    for (const { versions, note } of runtime.aliases) {
      for (const version of versions) {
        images[version] = { runtime: runtime.name, note };
      }
    }
  }
  return images;
}

/** Terraform's variables for the same: they belong into a file that is called `runtimes.auto.tfvars.json`. */
export function runtimeVariablesFor(place: { readonly projectId: string; readonly build: string }) {
  const entries = Object.entries(runtimeImagesFor(place));
  return {
    jobs: { runtime_version: RUNTIMES.default },
    runtime_images: Object.fromEntries(
      entries.map(([version, entry]) => {
        if (entry.runtime !== undefined) {
          return [version, entry];
        }
        const { machineImages, image, pythonVersion } = entry;
        return [version, { machine_images: machineImages, image, python_version: pythonVersion }];
      }),
    ),
  };
}
