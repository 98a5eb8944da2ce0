/** The states that users see, as AI Platform Training names them. */
export const JOB_STATES = ['QUEUED', 'PREPARING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLING', 'CANCELLED'] as const;
export type JobState = (typeof JOB_STATES)[number];
