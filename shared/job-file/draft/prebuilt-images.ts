import { isAlgorithmImage, isPrebuiltImage } from '#shared/catalog/executor-images.ts';
import { type JobDraft, masterOf, type PoolDraft, type ProgramDraft } from '#shared/job-file/draft/job-draft.ts';
import type { Located } from '#shared/job-file/parser/findings.ts';

const ENTRY_POINT_IMAGES = 'gcr.io/cloud-ml-public/';

/**
 * Google's prebuilt training images contain frameworks and no program: named as a container without a command of its
 * own, one is the runtime of the job's Python package, as on AI Platform and Vertex AI. Images of built-in algorithms
 * are containers, unless the job has a Python program for them.
 */
export function withPrebuiltRuntimes(draft: JobDraft): JobDraft {
  const master = fromArguments(masterOf(draft).program);
  const hasPython = master.pythonModule !== undefined || (master.packageUris ?? []).length > 0;
  const isRuntime = ({ imageUri, command }: ProgramDraft): boolean =>
    imageUri !== undefined &&
    (command ?? []).length === 0 &&
    isPrebuiltImage(imageUri.value) &&
    (hasPython || !isAlgorithmImage(imageUri.value));
  const first = isRuntime(master) ? toPython(master, master) : master;
  return {
    ...draft,
    pools: draft.pools.map((pool): PoolDraft => {
      if (pool.role === 'master') {
        return { ...pool, program: first };
      }
      return isRuntime(pool.program) ? { ...pool, program: programOf(pool, draft, first) } : pool;
    }),
  };
}

/**
 * AI Platform's first prebuilt images start a package that their arguments name (cloudml-samples, pytorch/containers):
 * `--module_name=trainer.task --package_uris=gs://…`, before those of the program.
 */
function fromArguments(program: ProgramDraft): ProgramDraft {
  const args = program.args ?? [];
  const find = (name: string) => args.find(({ value }) => value.startsWith(`${name}=`));
  const module = find('--module_name');
  const packages = find('--package_uris');
  const isNamed = program.imageUri?.value.startsWith(ENTRY_POINT_IMAGES) && module !== undefined;
  if (!isNamed || program.pythonModule !== undefined) {
    return program;
  }
  const textAfterName = (located: Located<string>) => located.value.slice(located.value.indexOf('=') + 1);
  return {
    ...program,
    pythonModule: { ...module, value: textAfterName(module) },
    packageUris:
      packages &&
      textAfterName(packages)
        .split(',')
        .map((value) => ({ ...packages, value })),
    args: args.filter((arg) => arg !== module && arg !== packages),
  };
}

/** In Vertex AI's format each pool has a program of its own; in the others, a role without one runs the master's. */
function programOf({ program }: PoolDraft, { dialect }: JobDraft, first: ProgramDraft): ProgramDraft {
  return dialect === 'vertex-ai' ? toPython(program, first) : { ...program, imageUri: undefined };
}

function toPython(program: ProgramDraft, first: ProgramDraft): ProgramDraft {
  return {
    ...program,
    imageUri: undefined,
    executorImageUri: program.imageUri,
    packageUris: program.packageUris ?? first.packageUris,
    pythonModule: program.pythonModule ?? first.pythonModule,
    args: program.args ?? program.containerArgs,
    containerArgs: undefined,
  };
}
