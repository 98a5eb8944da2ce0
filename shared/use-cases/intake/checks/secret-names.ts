import { locationOf } from '#shared/job-file/parser/findings.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { Check } from '#shared/use-cases/intake/checks/check.ts';

/** Whether the secrets of the job exist, before a VM is created that could not read them. No value is read. */
export const checkSecretNames: Check = async ({ draft, spec }, { intake: { secretNames } }) => {
  const problems: Problem[] = [];
  for (const [variable, reference] of Object.entries(spec.secrets)) {
    if (secretNames !== undefined && !(await secretNames.has(reference))) {
      const field = draft.secrets.find(({ value }) => value.key === variable);
      const message = `The secret ${reference.secret}, version ${reference.version}, of the variable ${variable} does not exist.`;
      const remedy = `Correct its name, or create it: ${secretNames.createCommand(reference.secret)}`;
      problems.push({ code: 'SECRET_MISSING', message, remedy, ...(field && locationOf(field)) });
    }
  }
  return { problems };
};
