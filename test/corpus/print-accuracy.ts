import { compareCorpus } from './compare-corpus.ts';
import { readCorpus } from './read-corpus.ts';

/** `npm run corpus`: prints how often verdicts and clusters agree with the corpus, and every difference. */
const corpus = readCorpus();
if (corpus === null) {
  process.stdout.write(
    'There is no corpus beside this checkout; see test/fixtures/job-files for the files in the repository.\n',
  );
} else {
  const startedAt = performance.now();
  const disagreements = compareCorpus(corpus.jobFiles);
  const seconds = (performance.now() - startedAt) / 1_000;
  for (const { file, what, expected, actual, reasons, explanation } of disagreements) {
    const shown = [
      `${file}: ${what} should be ${JSON.stringify(expected)}, is ${JSON.stringify(actual)}`,
      ...reasons.map((reason) => `    ${reason}`),
      `    → ${explanation ?? 'not explained'}`,
    ];
    process.stdout.write(`${shown.join('\n')}\n`);
  }
  for (const what of ['verdict', 'cluster', 'trials'] as const) {
    const wrong = disagreements.filter((one) => one.what === what).length;
    const total = corpus.jobFiles.length;
    process.stdout.write(
      `${what}: ${total - wrong} of ${total} agree (${(100 - (wrong / total) * 100).toFixed(1)} %)\n`,
    );
  }
  process.stdout.write(`${corpus.jobFiles.length} files validated in ${seconds.toFixed(2)} s.\n`);
}
