import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiError, asApiError } from '#dashboard/client/api-error.ts';
import { postJson } from '#dashboard/client/request.ts';
import type { Chosen } from '#dashboard/screens/drop/chosen-files.ts';
import { packFiles } from '#dashboard/screens/drop/pack-files.ts';
import { type Uploaded, uploadPackage } from '#dashboard/screens/drop/upload-package.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import type { SubmissionVerdict } from '#shared/protocol/submission.ts';

/** From the choice of files to the start of the job. */
export type SubmissionStep =
  | { readonly step: 'CHOOSE' }
  | { readonly step: 'PACK' | 'CHECK'; readonly name: string }
  | { readonly step: 'UPLOAD'; readonly name: string; readonly fraction: number }
  | {
      readonly step: 'VERDICT';
      readonly uploaded: Uploaded;
      readonly bytes: number;
      readonly verdict: SubmissionVerdict;
    };

export type Submission = {
  readonly current: SubmissionStep;
  readonly error: ApiError | null;
  readonly isStarting: boolean;
  readonly choose: (choose: () => Chosen | Promise<Chosen>) => void;
  /** Validates again with another job file. */
  readonly check: (jobFile: string) => void;
  /** Resolves with the job, or null if it was rejected. */
  readonly start: (jobId: string, jobFile: string | undefined) => Promise<JobView | null>;
  readonly reset: () => void;
};

export function useSubmission(): Submission {
  const [current, setCurrent] = useState<SubmissionStep>({ step: 'CHOOSE' });
  const [error, setError] = useState<ApiError | null>(null);
  const [isStarting, setStarting] = useState(false);
  const abort = useRef(new AbortController());
  useEffect(() => () => abort.current.abort(), []);

  const guard = async (work: () => Promise<unknown>) => {
    setError(null);
    try {
      await work();
    } catch (thrown) {
      setError(asApiError(thrown, undefined, 'Choose the package again.'));
    }
  };

  const validate = async (uploaded: Uploaded, bytes: number, jobFile?: string) => {
    const { uploadId, ...given } = uploaded;
    const body = { ...given, ...(jobFile !== undefined && { jobFile }) };
    const verdict = await postJson<SubmissionVerdict>(`/v1/uploads/${uploadId}:validate`, body, abort.current.signal);
    setCurrent({ step: 'VERDICT', uploaded, bytes, verdict });
  };

  return {
    current,
    error,
    isStarting,
    choose: (choose) =>
      void guard(async () => {
        const { name, content } = await toPackage(await choose(), (packed) =>
          setCurrent({ step: 'PACK', name: packed }),
        );
        setCurrent({ step: 'UPLOAD', name, fraction: 0 });
        const uploaded = await uploadPackage(name, content, {
          onProgress: (fraction) => setCurrent({ step: 'UPLOAD', name, fraction }),
          signal: abort.current.signal,
        });
        setCurrent({ step: 'CHECK', name });
        await validate(uploaded, content.size);
      }).then(() => setCurrent((now) => (now.step === 'VERDICT' ? now : { step: 'CHOOSE' }))),
    check: (jobFile) =>
      void guard(async () => current.step === 'VERDICT' && validate(current.uploaded, current.bytes, jobFile)),
    async start(jobId, jobFile) {
      let started: JobView | null = null;
      if (current.step === 'VERDICT') {
        setStarting(true);
        const { uploadId, ...given } = current.uploaded;
        const body = { ...given, jobId, ...(jobFile !== undefined && { jobFile }) };
        await guard(async () => {
          started = await postJson<JobView>(`/v1/uploads/${uploadId}:start`, body);
        });
        setStarting(false);
      }
      return started;
    },
    reset() {
      abort.current.abort();
      abort.current = new AbortController();
      setError(null);
      setCurrent({ step: 'CHOOSE' });
    },
  };
}

async function toPackage(
  chosen: Chosen,
  onPack: (name: string) => void,
): Promise<{ readonly name: string; readonly content: Blob }> {
  if (chosen.kind === 'ARCHIVE') {
    return { name: chosen.file.name, content: chosen.file };
  }
  const name = `${chosen.name}.tar.gz`;
  onPack(name);
  return { name, content: await packFiles(chosen.files.map(({ path, file }) => ({ path, content: file }))) };
}
