import { locationOf } from '#shared/job-file/parser/findings.ts';
import type { Check } from '#shared/use-cases/intake/checks/check.ts';

/** Whether the deployment has shells, if the job wants one. */
export const checkShellAccess: Check = ({ draft: { webAccess } }, { intake }) =>
  webAccess?.value !== true || intake.hasShellAccess
    ? {}
    : {
        warnings: [
          {
            code: 'SHELL_ACCESS_OFF',
            message: 'The job wants a shell, but shell access is off in this deployment. The job runs without it.',
            remedy:
              'Have it turned on in Terraform: shell_access = { members = ["user:YOU@example.com"] } (docs/shell.md).',
            ...locationOf(webAccess),
          },
        ],
      };
