import type { ObjectInfo, ObjectStore } from '#shared/ports/object-store.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';
import { classifyFile, type JobFileEntry } from '#shared/protocol/job-files.ts';

/** Objects of one request to the store, and such requests for one page: a folder with more objects takes one more. */
const OBJECTS_PER_REQUEST = 500;
const REQUESTS_PER_PAGE_MAX = 20;

/** The last of all characters: a name below a folder that sorts after every other. */
const LAST_CHARACTER = '\u{10FFFF}';

export type JobFilePage = {
  readonly entries: readonly JobFileEntry[];
  /** The name, relative to the job directory, after which the next page begins; null on the last page. */
  readonly after: string | null;
};

/**
 * The objects and folders of one folder of a job directory, ordered by name. `prefix` is empty or ends with a slash.
 * Folders are those of names: a folder is skipped once it is known, so that a folder of a million objects costs one
 * request. Throws if the bucket does not exist or may not be listed.
 */
export async function listJobFiles(
  objects: Pick<ObjectStore, 'list'>,
  query: {
    readonly jobDir: string;
    readonly prefix: string;
    readonly after: string | null;
    readonly countMax: number;
  },
): Promise<JobFilePage> {
  const { bucket, name } = parseGsUri(query.jobDir);
  const root = name === '' ? '' : `${name}/`;
  const entries = new Map<string, JobFileEntry>();
  let after = query.after;
  for (let request = 0; request < REQUESTS_PER_PAGE_MAX; request += 1) {
    const page = await objects.list({
      bucket,
      prefix: root + query.prefix,
      countMax: OBJECTS_PER_REQUEST,
      ...(after === null ? {} : { after: root + after }),
    });
    for (const info of page) {
      const entry = toEntry(info, { root, prefix: query.prefix });
      if (entries.size === query.countMax && !entries.has(entry.name)) {
        return { entries: [...entries.values()], after };
      }
      entries.set(entry.name, entry);
      after = entry.kind === 'FOLDER' ? `${entry.name}${LAST_CHARACTER}` : entry.name;
    }
    if (page.length < OBJECTS_PER_REQUEST) {
      return { entries: [...entries.values()], after: null };
    }
  }
  return { entries: [...entries.values()], after };
}

function toEntry(
  { name: objectName, sizeBytes, updatedAt, generation }: ObjectInfo,
  { root, prefix }: { readonly root: string; readonly prefix: string },
): JobFileEntry {
  const name = objectName.slice(root.length);
  const slash = name.indexOf('/', prefix.length);
  // A name that ends with a slash is the marker of a folder, as consoles create it.
  if (slash !== -1) {
    const folder = name.slice(0, slash + 1);
    return { kind: 'FOLDER', name: folder, role: classifyFile(folder) };
  }
  return {
    kind: 'FILE',
    name,
    role: classifyFile(name),
    sizeBytes,
    updateTime: new Date(updatedAt).toISOString(),
    generation,
  };
}
