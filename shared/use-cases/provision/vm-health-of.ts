import { HEALTH_FIELDS, type HealthAction, type HealthField, type HealthPolicy } from '#shared/domain/health.ts';
import type { ReplicaId } from '#shared/domain/job.ts';
import type { VmConfig } from '#shared/protocol/vm-config.ts';

/**
 * The policy of one replica. Parameter servers and evaluators wait for others, and only the master, which saves the
 * output, can go back to an earlier one.
 */
export function vmHealthOf(
  { stalledAfterMs, ...stated }: HealthPolicy,
  { role, index }: ReplicaId,
): VmConfig['health'] {
  const waits = role === 'ps' || role === 'evaluator';
  const savesOutput = role === 'master' && index === 0;
  const actionOf = (field: HealthField): HealthAction => {
    const { code, actions } = HEALTH_FIELDS[field];
    if (waits && (code === 'STALLED' || code === 'GPU_IDLE')) {
      return 'ignore';
    }
    const action = stated[field] ?? actions[0];
    return action === 'rollback' && !savesOutput ? 'warn' : action;
  };
  const fields = Object.keys(HEALTH_FIELDS) as readonly HealthField[];
  const actions = Object.fromEntries(fields.map((field) => [HEALTH_FIELDS[field].code, actionOf(field)]));
  return {
    actions: actions as VmConfig['health']['actions'],
    stalledAfterSeconds: stalledAfterMs === undefined ? null : stalledAfterMs / 1_000,
  };
}
