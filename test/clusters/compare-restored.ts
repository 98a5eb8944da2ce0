import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import * as z from 'zod';
import type { CloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import type { EventReader } from './program-events.ts';

/** Names that the programs do not list, since they are outside of the output directory. */
const ELSEWHERE = /^dropforge-(workdir|replicas)\//;

const generation = z.coerce.string();
const manifestSchema = z.object({ attempt: z.int(), files: z.record(z.string(), z.object({ generation })) });
const versionsSchema = z.object({ items: z.array(z.object({ name: z.string(), generation })).default([]) });

/** SHA-256 by name. */
type Digests = Readonly<Record<string, string>>;

/**
 * Compares the files that each replica of the second attempt found when it started with the manifest that the attempt
 * claimed, and with what each replica of the first attempt had written in the save that was resumed.
 */
export function compareRestored(events: EventReader, claimed: Digests): readonly string[] {
  const step = Math.max(0, ...events('RESUMED', 2).map((event) => event.step));
  const written = events('SAVED', 1).filter((event) => event.step === step);
  const starts = events('START', 2);
  // A folder is left out if its index names a file that is gone: the program was deleting it.
  const folders = new Set(starts.flatMap(({ files }) => Object.keys(files).map(dirname)));
  const expected = Object.fromEntries(Object.entries(claimed).filter(([name]) => folders.has(dirname(name))));
  return starts.flatMap(({ replica, files }) => [
    ...differences(`the manifest, restored on ${replica}`, expected, files),
    ...differences(`restored on ${replica}, the manifest`, files, claimed),
    ...written.flatMap((save) =>
      differences(`step ${step} of ${save.replica}, restored on ${replica}`, save.files, files),
    ),
  ]);
}

/** Compares what each replica has written in the last save with the manifest at the end. */
export function compareFinal(events: EventReader, last: Digests): readonly string[] {
  const step = Math.max(0, ...events('SAVED').map((event) => event.step));
  const saves = events('SAVED').filter((event) => event.step === step);
  return saves.flatMap(({ replica, files }) => differences(`step ${step} of ${replica}, in the bucket`, files, last));
}

function differences(what: string, files: Digests, kept: Digests): readonly string[] {
  const different = Object.entries(files).filter(([name, digest]) => kept[name] !== digest);
  return different.map(([name]) => `${name} (${what}): ${name in kept ? 'other bytes' : 'missing'}`);
}

/**
 * The files of the last manifest, or of the first one that an attempt wrote, which has those that it found. Call it
 * before the attempt deletes any of them.
 */
export async function readManifest(cloud: CloudUnderTest, jobId: string, attempt?: number): Promise<Digests> {
  const objects = `${cloud.endpoints.storage}/storage/v1/b/${cloud.endpoints.jobsBucket}/o`;
  const read = async (name: string, version: string) => {
    const response = await fetch(`${objects}/${encodeURIComponent(name)}?alt=media&generation=${version}`);
    return Buffer.from(response.ok ? await response.bytes() : []);
  };
  const listed = await fetch(`${objects}?versions=true&prefix=${jobId}/dropforge-manifest.json`);
  const versions = versionsSchema.parse(await listed.json()).items;
  const bodies = await Promise.all(
    versions
      .toSorted((one, other) => Number(BigInt(one.generation) - BigInt(other.generation)))
      .map((version) => read(version.name, version.generation)),
  );
  const manifests = bodies.map((body) => manifestSchema.parse(JSON.parse(body.toString())));
  const chosen = attempt === undefined ? manifests.at(-1) : manifests.find((each) => each.attempt === attempt);
  const files = Object.entries(chosen?.files ?? {}).filter(([name]) => !ELSEWHERE.test(name));
  const digests = files.map(async ([name, info]) => {
    const bytes = await read(`${jobId}/${name}`, info.generation);
    return [name, createHash('sha256').update(bytes).digest('hex')] as const;
  });
  return Object.fromEntries(await Promise.all(digests));
}
