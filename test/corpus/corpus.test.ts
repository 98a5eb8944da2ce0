import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { OFFLINE_CONTEXT } from '#cli/submit/job-file.ts';
import { validateJobFile } from '#shared/job-file/validate-job-file.ts';
import { leaveOut } from '../support/run/leave-out.ts';
import { compareCorpus } from './compare-corpus.ts';
import { expandVariables } from './expand-variables.ts';
import { KNOWN_DISAGREEMENTS } from './known-disagreements.ts';
import { readCorpus } from './read-corpus.ts';
import { type CommandOutcome, runCommandLine } from './run-command-lines.ts';

const corpus = readCorpus();

if (corpus === null) {
  leaveOut('the corpus beside the checkout', 'job files of other people');
} else {
  describe('job files that other people wrote', () => {
    const disagreements = compareCorpus(corpus.jobFiles);

    it('get the verdict, cluster and trials that an independent reader assigned', () => {
      expect(disagreements.filter(({ explanation }) => explanation === undefined)).toEqual([]);
    });

    it('disagree only in explained cases', () => {
      const found = disagreements.map(({ file, what }) => `${file} ${what}`);
      expect(found.sort()).toEqual(Object.keys(KNOWN_DISAGREEMENTS).sort());
    });

    it('run if they tune, unless they use another feature that is not supported', () => {
      const tunings = corpus.jobFiles
        .map(({ file, bytes }) => validateJobFile(bytes, { fileName: file, context: OFFLINE_CONTEXT }))
        .filter(({ verdict, trials }) => verdict === 'valid' && trials !== null);
      const reasons = tunings.flatMap(({ isRunnable, warnings }) =>
        isRunnable ? [] : warnings.filter(({ code }) => code === 'UNSUPPORTED_FIELD').map(({ message }) => message),
      );
      expect(tunings.length).toBeGreaterThan(50);
      expect(reasons.filter((reason) => !/service account|TPU/.test(reason))).toEqual([]);
    });

    it('agree in at least 99 % of the files', () => {
      const wrong = new Set(disagreements.filter(({ what }) => what !== 'trials').map(({ file }) => file));
      expect(wrong.size / corpus.jobFiles.length).toBeLessThanOrEqual(0.01);
    });
  });

  describe('command lines that other people wrote', () => {
    let outcomes: readonly CommandOutcome[];

    beforeAll(async () => {
      const directory = await mkdtemp(join(tmpdir(), 'dropforge-lines-'));
      const all: (CommandOutcome | null)[] = [];
      for (const line of corpus.commandLines) {
        all.push(await runCommandLine(expandVariables(line), directory));
      }
      outcomes = all.filter((outcome) => outcome !== null);
      return () => rm(directory, { recursive: true });
    });

    it('are mostly of the three supported commands', () => {
      expect(outcomes.length / corpus.commandLines.length).toBeGreaterThan(0.95);
    });

    it('are rejected only for unsupported features, or for values of variables and files that are missing here', () => {
      const rejections = outcomes.filter(({ code }) => code === 1).map(({ text }) => text);
      const reason =
        /^error: (UNSUPPORTED_FIELD|PLACEHOLDER|MISSING_FIELD|INVALID_JOB_DIR|INVALID_PACKAGE_URI|NOT_INSTALLABLE|NOT_AN_ARCHIVE)[: ]|^dropforge: The job file .* cannot be read|cannot be read|is not a Python package: it has no __init__.py/m;
      expect(rejections.filter((text) => !reason.test(text))).toEqual([]);
      expect(outcomes.filter(({ text }) => /FLAG_NOT_IN_FORM|^\s+at .*:\d+:\d+/m.test(text))).toEqual([]);
    });

    it('are accepted if they tune', () => {
      const tunings = outcomes.filter(({ line }) => line.includes('hp-tuning-jobs'));
      expect(tunings.map(({ code, text }) => (code === 0 ? 0 : text))).toEqual(tunings.map(() => 0));
      expect(tunings.length).toBeGreaterThan(0);
    });

    it('have no usage error, except for arguments that gcloud rejects, too', () => {
      const usageErrors = outcomes.filter(({ code }) => code > 1).map(({ text }) => text);
      const isInvalidForGcloud =
        /REPLICA_COUNT is not a whole number|'\[\.\.\.\]' is not|too many arguments|unknown option '--input-dir'|value\(name\)|script=SCRIPT_PATH is not supported/;
      expect(usageErrors.filter((text) => !isInvalidForGcloud.test(text))).toEqual([]);
    });
  });
}
