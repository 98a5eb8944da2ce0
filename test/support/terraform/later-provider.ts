import type { AttributeSchema, BlockSchema, ProviderSchema } from './provider-schema.ts';
import { isValueMap, type Value } from './terraform-value.ts';

/** An attribute of a block (the resource type, then nested blocks), and its schema since provider 7; null if removed. */
type Change = readonly [block: string, attribute: string, since7: AttributeSchema | null];

/**
 * How the types that terraform/ uses differ from 6.50 in 7.45 of August 2026, the last release before 8.0, by the
 * provider's source; the guide to 8.0 names none of these types. Arguments that were added, and what is no longer
 * required, cannot break a configuration and are not here. Behavior, such as defaults, is not seen by the tests.
 */
const CHANGES: readonly Change[] = [
  ['google_cloudfunctions2_function.event_trigger', 'event_type', { type: 'string', required: true }],
  ['google_cloudfunctions2_function.service_config', 'service', { type: 'string', computed: true }],
  ['google_compute_subnetwork', 'enable_flow_logs', null],
  ['google_storage_bucket.retention_policy', 'retention_period', { type: 'string', required: true }],
];

/** The schema of 6.50 with the changes of 7 and 8. */
export function laterSchema(schema: ProviderSchema): ProviderSchema {
  const resources = { ...schema.resources };
  for (const [path, attribute, since7] of CHANGES) {
    const [type = '', ...nested] = path.split('.');
    resources[type] = change(resources[type] ?? {}, nested, [attribute, since7]);
  }
  return { ...schema, resources };
}

function change(block: BlockSchema, [name, ...rest]: readonly string[], to: readonly [string, AttributeSchema | null]) {
  if (name === undefined) {
    const { [to[0]]: _, ...attributes } = block.attributes ?? {};
    return { ...block, attributes: { ...attributes, ...(to[1] !== null && { [to[0]]: to[1] }) } };
  }
  const nested = block.block_types?.[name];
  if (nested === undefined) {
    throw new Error(`The schema has no block ${name}.`);
  }
  const changed: BlockSchema = change(nested.block, rest, to);
  return { ...block, block_types: { ...block.block_types, [name]: { ...nested, block: changed } } };
}

/** A value that provider 7 refuses and 6.50 accepted: the name of a topic alone. */
export function findLaterProblem(type: string, value: Value): string | undefined {
  const topic = isValueMap(value) && type === 'google_storage_notification' ? value.topic : undefined;
  return typeof topic === 'string' && !/^projects\/[^/]+\/topics\/[^/]+$/.test(topic)
    ? `topic must have the form projects/PROJECT/topics/TOPIC, not ${topic}.`
    : undefined;
}
