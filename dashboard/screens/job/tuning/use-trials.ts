import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ApiError } from '#dashboard/client/api-error.ts';
import { useResource, useResources } from '#dashboard/client/use-resource.ts';
import type { TrialView } from '#shared/protocol/tuning-view.ts';

const PAGE_TRIALS = 500;
/** Every page is read again when the tuning changes, and every trial is a row. */
const PAGES_MAX = 4;

type Page = { readonly trials: readonly TrialView[]; readonly nextPageToken?: string };

export type Trials = {
  /** Undefined before the first page was read. */
  readonly trials: readonly TrialView[] | undefined;
  /** Whether there are more trials than are read. */
  readonly isCut: boolean;
  readonly error: ApiError | null;
  readonly reload: () => void;
};

/** The trials of a tuning, page after page, and again when it changes. */
export function useTrials(tuningId: string): Trials {
  const pathOf = (token: string) =>
    `/v1/jobs/${encodeURIComponent(tuningId)}/trials?pageSize=${PAGE_TRIALS}${token === '' ? '' : `&pageToken=${token}`}`;
  const first = useResource<Page>(pathOf(''), [tuningId]);
  const [tokens, setTokens] = useState<readonly string[]>([]);
  const others = useResources<Page>(tokens.map(pathOf), [tuningId]);
  const next = (tokens.length === 0 ? first.data : others.at(-1))?.nextPageToken;
  const isCut = next !== undefined && tokens.length + 1 >= PAGES_MAX;
  useEffect(() => {
    if (next !== undefined && !isCut && !tokens.includes(next)) {
      setTokens([...tokens, next]);
    }
  }, [next]);
  // The same array while no page has changed: charts are drawn from it.
  const trials = useMemo(
    () => first.data && [first.data, ...others].flatMap((page) => page?.trials ?? []),
    [first.data, others.length, ...others],
  );
  return { trials, isCut, error: first.error, reload: first.reload };
}
