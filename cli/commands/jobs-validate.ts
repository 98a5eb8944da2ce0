import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Command, Output } from '#cli/command.ts';
import { describeError, Failure } from '#cli/failure.ts';
import { paint } from '#cli/output/paint.ts';
import { describeProblem } from '#cli/submission/describe-report.ts';
import { OFFLINE_CONTEXT } from '#cli/submission/dry-run.ts';
import { type JobFileValidation, validateJobFile } from '#shared/spec/validate-job-file.ts';

export const jobsValidate: Command = {
  operands: [{ name: 'FILE', summary: 'job files in YAML or JSON', count: 'many' }],
  flags: [],
  notes: 'No cloud is needed. Ends with 1 when a file would be refused. What flags may add is not missed.',
  async run({ io, operands, print }) {
    let isAllValid = true;
    for (const file of operands) {
      const source = await readSource(resolve(io.cwd, file));
      const validation = validateJobFile(source, { fileName: basename(file), context: OFFLINE_CONTEXT });
      isAllValid &&= validation.verdict === 'valid';
      print({ json: { file, ...validation }, text: describeValidation(file, validation, io.stdout) });
    }
    return isAllValid ? 0 : 1;
  },
};

function describeValidation(file: string, validation: JobFileValidation, output: Output): string {
  const { verdict, errors, warnings, cluster, price } = validation;
  const lines = [`${file}: ${paint(verdict, verdict === 'valid' ? 'green' : 'red', output)}`];
  if (cluster !== undefined && price !== undefined) {
    const [machineType, gpus] = cluster.master;
    const asked = [machineType, ...Object.entries(gpus).map(([type, count]) => `${count} × ${type}`)];
    const perHour = price.onDemandPerHour === null ? '' : `, $${price.onDemandPerHour.toFixed(2)} an hour`;
    const atVertex = price.vertexPerHour === null ? '' : ` (Vertex AI: $${price.vertexPerHour.toFixed(2)})`;
    lines.push(`  master on ${asked.join(' with ')}${perHour}${perHour && atVertex}`);
  }
  return [
    ...lines,
    ...errors.map((problem) => `  - ${describeProblem(problem)}`),
    ...warnings.map((warning) => `  - ${paint('warning:', 'yellow', output)} ${describeProblem(warning)}`),
  ].join('\n');
}

async function readSource(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new Failure(`The job file ${path} cannot be read (${describeError(error)}).`);
  }
}
