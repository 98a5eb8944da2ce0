/** The screens of the page, by their addresses. */
export type Route =
  | { readonly screen: 'jobs' }
  | { readonly screen: 'drop' }
  | { readonly screen: 'job'; readonly jobId: string }
  | { readonly screen: 'compare'; readonly jobIds: readonly string[] }
  | { readonly screen: 'diagnosis'; readonly label: string }
  | { readonly screen: 'unknown' };

export function readRoute(path: string, query: URLSearchParams): Route {
  const [, first = '', second, ...rest] = path.replace(/(.)\/$/, '$1').split('/');
  if (rest.length > 0) {
    return { screen: 'unknown' };
  }
  if (first === 'jobs' && second !== undefined) {
    const jobId = decode(second);
    return jobId === undefined ? { screen: 'unknown' } : { screen: 'job', jobId };
  }
  if (first === 'diagnosis' && second !== undefined) {
    const label = decode(second);
    return label === undefined ? { screen: 'unknown' } : { screen: 'diagnosis', label };
  }
  if (second !== undefined) {
    return { screen: 'unknown' };
  }
  switch (first) {
    case '':
      return { screen: 'jobs' };
    case 'drop':
      return { screen: 'drop' };
    case 'compare':
      return { screen: 'compare', jobIds: readJobIds(query.get('jobs')) };
    default:
      return { screen: 'unknown' };
  }
}

export function addressOfJob(jobId: string): string {
  return `/jobs/${encodeURIComponent(jobId)}`;
}

/** The explanation of a label. */
export function addressOfDiagnosis(label: string): string {
  return `/diagnosis/${encodeURIComponent(label)}`;
}

export function addressOfComparison(jobIds: readonly string[]): string {
  return `/compare?jobs=${jobIds.map(encodeURIComponent).join(',')}`;
}

function readJobIds(text: string | null): readonly string[] {
  return [...new Set((text ?? '').split(',').filter((jobId) => jobId !== ''))];
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
