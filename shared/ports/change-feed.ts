/** Reports which jobs have new state, heartbeats or log lines, in one process. */
export type ChangeFeed = {
  /** Returns the function that ends the subscription. */
  subscribe(listener: (jobId: string) => void): () => void;
};
