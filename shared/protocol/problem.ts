import { type Warning, warningSchema } from '#shared/domain/job.ts';

/** A problem of a submission, which a warning of a job has the form of; the path is also that of an archive's entry. */
export const problemSchema = warningSchema;
export type Problem = Warning;
