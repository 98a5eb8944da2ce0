export type Cleanup = ReturnType<typeof createCleanup>;

/** The steps that close what has been opened, run latest first. `AsyncDisposableStack` requires Node.js 24. */
export function createCleanup() {
  const steps: (() => unknown)[] = [];
  return {
    defer: (step: () => unknown) => void steps.push(step),
    /** Runs all steps, whether or not some throw; rejects with what the last of these has thrown. */
    async run(): Promise<void> {
      const step = steps.pop();
      if (step !== undefined) {
        try {
          await step();
        } finally {
          await this.run();
        }
      }
    },
  };
}
