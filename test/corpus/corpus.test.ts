import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expandVariables } from './expand-variables.ts';
import { judgeCorpus } from './judge-corpus.ts';
import { KNOWN_DISAGREEMENTS } from './known-disagreements.ts';
import { readCorpus } from './read-corpus.ts';
import { type CommandOutcome, runCommandLine } from './run-command-lines.ts';

const corpus = readCorpus();

if (corpus === null) {
  describe('job files that other people wrote', () => {
    it('are not beside this checkout: the fixtures carry the proof', () => {
      process.stdout.write('The corpus is not beside this checkout: its test was left out.\n');
      expect(readCorpus()).toBeNull();
    });
  });
} else {
  describe('job files that other people wrote', () => {
    const disagreements = judgeCorpus(corpus.jobFiles);

    it('get the verdict, the cluster and the trials that a second reader gave them', () => {
      expect(disagreements.filter(({ explanation }) => explanation === undefined)).toEqual([]);
    });

    it('disagree only where it is said why', () => {
      const found = disagreements.map(({ file, what }) => `${file} ${what}`);
      expect(found.sort()).toEqual(Object.keys(KNOWN_DISAGREEMENTS).sort());
    });

    it('are right in 99 of 100 cases', () => {
      const wrong = new Set(disagreements.filter(({ what }) => what !== 'trials').map(({ file }) => file));
      expect(wrong.size / corpus.jobFiles.length).toBeLessThanOrEqual(0.01);
    });
  });

  describe('command lines that other people wrote', () => {
    let outcomes: readonly CommandOutcome[];

    beforeAll(async () => {
      const directory = await mkdtemp(join(tmpdir(), 'dropforge-lines-'));
      afterAll(() => rm(directory, { recursive: true }));
      const all: (CommandOutcome | null)[] = [];
      for (const line of corpus.commandLines) {
        all.push(await runCommandLine(expandVariables(line), directory));
      }
      outcomes = all.filter((outcome) => outcome !== null);
    });

    it('are nearly all of the two commands that are taken over', () => {
      expect(outcomes.length / corpus.commandLines.length).toBeGreaterThan(0.9);
    });

    it('are refused only for what this version cannot run, or for what variables and files would have said', () => {
      const refusals = outcomes.filter(({ code }) => code === 1).map(({ text }) => text);
      const reason =
        /^- (UNSUPPORTED_FIELD|PLACEHOLDER|MISSING_FIELD|INVALID_JOB_DIR|INVALID_PACKAGE_URI) |^dropforge: The job file .* cannot be read|cannot be read|is not a Python package: it has no __init__.py/m;
      expect(refusals.filter((text) => !reason.test(text))).toEqual([]);
      expect(outcomes.filter(({ text }) => /FLAG_NOT_IN_FORM|^\s+at .*:\d+:\d+/m.test(text))).toEqual([]);
    });

    it('are no slips of the command line, but where they have what is none of gcloud either', () => {
      const slips = outcomes.filter(({ code }) => code > 1).map(({ text }) => text);
      const isOfOthers =
        /REPLICA_COUNT is not a whole number|'\[\.\.\.\]' is not|too many arguments|unknown option '--input-dir'|value\(name\)|script is not supported/;
      expect(slips.filter((text) => !isOfOthers.test(text))).toEqual([]);
    });
  });
}
