import { BaseSequencer, type TestSpecification } from 'vitest/node';
import seconds from './seconds.json' with { type: 'json' };

/** The time of files that are not listed: most take less than a second. */
const SECONDS_DEFAULT = 1;

const isListed = (path: string): path is keyof typeof seconds => path in seconds;

/**
 * Starts the files that take longest first, over all projects, so that at the end no core waits for one of them.
 * `npm run test:times` prints the times of the last run.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const secondsOf = ({ moduleId }: TestSpecification) => {
      const path = moduleId.slice(`${this.ctx.config.root}/test/`.length);
      return isListed(path) ? seconds[path] : SECONDS_DEFAULT;
    };
    return [...files].sort((a, b) => secondsOf(b) - secondsOf(a));
  }
}
