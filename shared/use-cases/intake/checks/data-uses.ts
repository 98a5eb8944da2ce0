import type { JobSpec } from '#shared/domain/job-spec.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';
import { isBucketName, parseGsUri, toGsUri } from '#shared/protocol/gs-uri.ts';
import { programsOf } from '#shared/use-cases/intake/checks/packages.ts';

/** Data that a job names; `name` is a prefix of objects. `isWritten` is a guess from the argument or variable. */
export type DataUse = ObjectName & { readonly uri: string; readonly isWritten: boolean };

/** `gs://bucket/path`, and Vertex AI's `/gcs/bucket/path`; the bucket must end there, not with a placeholder. */
const DATA_URI = /(?:gs:\/\/|(?<![\w/])\/gcs\/)([a-z0-9._-]+)(?:\/([^\s"'`,;<>|)\]}]*)|(?=[\s"'`,;<>|)\]}]|$))/g;
const WILDCARD_OR_PLACEHOLDER = /[*?[{$%]/;
const FLAG = /^--?([\w.-]+)(?:=|$)/;
const WRITTEN =
  /(^|[-_.])(out|outputs?|job|model|ckpts?|checkpoints?|logs?|exports?|saved?|results?|tensorboard|cache|te?mp|staging)(dir|$|[-_.])/i;
/** Names of what a training starts from. They count as read, although they have a word of those above. */
const READ = /name_or_path|pretrained|(^|[-_.])(base|init)/i;

/**
 * The data that commands, arguments, also after a resume, variables and the study name, each once; not the job's own
 * directory.
 */
export function dataUsesOf(spec: JobSpec): readonly DataUse[] {
  const texts = programsOf(spec).flatMap(({ command = [], args, environment }) => [
    ...[...command, ...args].map((text, index, tokens) => {
      return [(FLAG.exec(text) ?? FLAG.exec(tokens[index - 1] ?? ''))?.[1] ?? '', text] as const;
    }),
    ...Object.entries(environment),
  ]);
  const others = JSON.stringify([spec.study, spec.programOptions.resumeArguments]);
  const uses = [...texts, ['', others] as const].flatMap(([flag, text]) =>
    [...text.matchAll(DATA_URI)].map(([, bucket = '', path = '']) => {
      const [name = ''] = path.split(WILDCARD_OR_PLACEHOLDER);
      return {
        uri: toGsUri({ bucket, name: path }),
        bucket,
        name,
        isWritten: !READ.test(flag) && WRITTEN.test(flag.replace(/([a-z])([A-Z])/g, '$1-$2')),
      };
    }),
  );
  const own = parseGsUri(spec.jobDir);
  const named = uses.filter(({ bucket, name }) => bucket !== own.bucket || !`${name}/`.startsWith(`${own.name}/`));
  return [...new Map(named.filter(({ bucket }) => isBucketName(bucket)).map((use) => [use.uri, use])).values()];
}
