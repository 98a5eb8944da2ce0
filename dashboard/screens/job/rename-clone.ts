/** A job file with the id under which it will be submitted. */
export type CloneDraft = { readonly jobId: string; readonly jobFile: string };

/** The name in the file, and the job directory that ends with it, follow the job id. */
export function renamed({ jobId, jobFile }: CloneDraft, next: string): CloneDraft {
  const lines = jobFile.split('\n').map((line) => {
    const [, field = '', value = ''] =
      /^(\s*(?:name|jobId|displayName|output|jobDir|outputUriPrefix): )(.*)$/.exec(line) ?? [];
    if (value === jobId) {
      return `${field}${next}`;
    }
    return value.startsWith('gs://') && value.endsWith(`/${jobId}`)
      ? `${field}${value.slice(0, -jobId.length)}${next}`
      : line;
  });
  return { jobId: next, jobFile: lines.join('\n') };
}
