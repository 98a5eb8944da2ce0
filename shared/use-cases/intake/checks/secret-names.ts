import { locationOf } from '#shared/job-file/parser/findings.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { Check } from '#shared/use-cases/intake/checks/check.ts';

/** Whether the secrets of the job exist, before a VM is created that could not read them. No value is read. */
export const checkSecretNames: Check = async ({ draft, spec }, { intake: { secretNames } }) => {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  const secrets = Object.entries(spec.secrets).map(
    async ([variable, reference]) => [variable, reference, await secretNames.find(reference)] as const,
  );
  for (const [variable, { project, secret, version }, found] of await Promise.all(secrets)) {
    const field = draft.secrets.find(({ value }) => value.key === variable);
    const name = `${project === null ? secret : `projects/${project}/secrets/${secret}`}, version ${version},`;
    if (found.state === 'MISSING') {
      const message = `The secret ${name} of the variable ${variable} ${found.reason}.`;
      problems.push({ code: 'SECRET_MISSING', message, remedy: found.remedy, ...(field && locationOf(field)) });
    } else if (found.state === 'UNKNOWN') {
      const message = `Whether the secret ${name} of the variable ${variable} exists was not checked: ${found.reason}.`;
      warnings.push({ code: 'SECRET_NOT_CHECKED', message, remedy: found.remedy, ...(field && locationOf(field)) });
    }
  }
  return { problems, warnings };
};
