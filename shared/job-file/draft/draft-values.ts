import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';

/** One value of a draft: where the draft has it, `pools.worker.count`, and where it was said. */
export type DraftValue = { readonly name: string; readonly path: string; readonly value: unknown };

/** Every value of a draft that somebody has said. Pools go by their roles, and items of lists by their places. */
export function listDraftValues(draft: JobDraft): readonly DraftValue[] {
  const { problems: _problems, warnings: _warnings, unsupported: _unsupported, pools, ...fields } = draft;
  return listValues({ ...fields, pools: Object.fromEntries(pools.map((pool) => [pool.role, pool])) }, '');
}

function listValues(node: unknown, name: string): readonly DraftValue[] {
  if (typeof node !== 'object' || node === null) {
    return [];
  }
  if ('value' in node && 'path' in node) {
    return [{ name, path: String(node.path), value: node.value }];
  }
  return Object.entries(node).flatMap(([key, child]) => listValues(child, name === '' ? key : `${name}.${key}`));
}
