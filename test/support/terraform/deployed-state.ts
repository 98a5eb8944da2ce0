import * as z from 'zod';
import type { TerraformCopy } from './terraform.ts';

export type Resource = {
  /** With the modules that it is in. */
  readonly address: string;
  readonly type: string;
  readonly name: string;
  /** The key of `for_each`; null for a single resource. */
  readonly key: string | null;
  readonly values: Readonly<Record<string, unknown>>;
};

const resourceSchema = z.object({
  address: z.string(),
  type: z.string(),
  name: z.string(),
  index: z.union([z.string(), z.number()]).optional(),
  values: z.record(z.string(), z.unknown()),
});

type Module = {
  readonly resources?: readonly z.infer<typeof resourceSchema>[] | undefined;
  readonly child_modules?: readonly Module[] | undefined;
};

const moduleSchema: z.ZodType<Module> = z.object({
  resources: z.array(resourceSchema).optional(),
  get child_modules() {
    return z.array(moduleSchema).optional();
  },
});

const stateSchema = z.object({ values: z.object({ root_module: moduleSchema }) });
const planSchema = z.object({ planned_values: z.object({ root_module: moduleSchema }) });

/** Applies the configuration in a directory, and returns all resources in the resulting state. */
export async function apply(
  terraform: TerraformCopy,
  at: string,
  args: readonly string[],
): Promise<readonly Resource[]> {
  await terraform.init(at);
  await terraform.must(at, ['plan', '-input=false', '-out=plan.bin', ...args]);
  await terraform.must(at, ['apply', 'plan.bin']);
  const state = stateSchema.parse(JSON.parse(await terraform.must(at, ['show', '-json'])));
  return listResources(state.values.root_module);
}

/** Plans the configuration in a directory, and returns the planned resources with the values known before apply. */
export async function plan(
  terraform: TerraformCopy,
  at: string,
  args: readonly string[],
): Promise<readonly Resource[]> {
  await terraform.init(at);
  await terraform.must(at, ['plan', '-input=false', '-out=plan.bin', ...args]);
  const planned = planSchema.parse(JSON.parse(await terraform.must(at, ['show', '-json', 'plan.bin'])));
  return listResources(planned.planned_values.root_module);
}

function listResources({ resources = [], child_modules = [] }: Module): readonly Resource[] {
  const own = resources.map(({ index, ...resource }) => ({
    ...resource,
    key: index === undefined ? null : String(index),
  }));
  return [...own, ...child_modules.flatMap(listResources)];
}
