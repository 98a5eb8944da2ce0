/** The address of a job's page; ids are letters, digits and underscores. */
export function pageOf(pageUrl: string, jobId: string): string {
  return `${pageUrl.replace(/\/$/, '')}/jobs/${jobId}`;
}
