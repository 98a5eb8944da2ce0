import type { Parameter, ParameterSpace } from '#shared/domain/study.ts';
import { listObjectives, objectiveValues } from '#shared/protocol/objectives.ts';
import type { TrialView, TuningView } from '#shared/protocol/report.ts';

/** A trial with what its program has reported; a value that is not finite is a text. */
export type MeasuredTrial = TrialView & {
  readonly curve: readonly {
    readonly step: number;
    readonly elapsedMs: number;
    readonly values: Readonly<Record<string, number | string>>;
  }[];
};

/** Records of Optuna's journal storage (optuna.storages.journal, JournalOperation), as version 5.0 writes them. */
const OPERATIONS = { CREATE_STUDY: 0, SET_STUDY_USER_ATTR: 2, SET_STUDY_SYSTEM_ATTR: 3, CREATE_TRIAL: 4 } as const;

/** optuna.study.StudyDirection. */
const DIRECTIONS = { MINIMIZE: 1, MAXIMIZE: 2 } as const;

/** optuna.trial.TrialState. */
const STATES = { RUNNING: 0, COMPLETE: 1, PRUNED: 2, FAIL: 3, WAITING: 4 } as const;

/** Any text: Optuna compares it with its own, to recognize the records that it wrote. */
const WORKER_ID = 'dropforge';

/**
 * Formats a tuning as a journal that `optuna.load_study` and optuna-dashboard open: one study with the name of the
 * job, one JSON object a line. Optuna counts trials from 0, so that the id is the number plus 1; it is also a user
 * attribute.
 */
export function formatOptunaJournal(jobId: string, tuning: TuningView, trials: readonly MeasuredTrial[]): string {
  const study = { worker_id: WORKER_ID, study_id: 0 };
  const attributes = { job_id: jobId, algorithm: tuning.algorithm, early_stopping: tuning.earlyStopping };
  const records: readonly object[] = [
    {
      op_code: OPERATIONS.CREATE_STUDY,
      worker_id: WORKER_ID,
      study_name: jobId,
      directions: listObjectives(tuning).map(({ goal }) => DIRECTIONS[goal]),
    },
    {
      op_code: OPERATIONS.SET_STUDY_SYSTEM_ATTR,
      ...study,
      system_attr: { 'study:metric_names': listObjectives(tuning).map(({ metricId }) => metricId) },
    },
    // One attribute a record, or Optuna fails to read it.
    ...Object.entries(attributes).map(([name, value]) => ({
      op_code: OPERATIONS.SET_STUDY_USER_ATTR,
      ...study,
      user_attr: { [name]: value },
    })),
    ...trials.map((trial) => ({ op_code: OPERATIONS.CREATE_TRIAL, ...study, ...toTrial(trial, tuning) })),
  ];
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

function toTrial(trial: MeasuredTrial, tuning: TuningView): Record<string, unknown> {
  const { study, metricId, objectives } = tuning;
  const hasSeveral = objectives.length > 0;
  const active = findActive(study.parameters, trial.parameters);
  const state = stateOf(trial);
  const hasValue = state === STATES.COMPLETE || state === STATES.PRUNED;
  return {
    state,
    value: hasValue && !hasSeveral ? trial.objective : null,
    values: hasValue && hasSeveral ? objectiveValues(trial, tuning) : null,
    datetime_start: trial.startTime ?? trial.endTime,
    ...(trial.endTime !== null && { datetime_complete: trial.endTime }),
    distributions: Object.fromEntries(active.map(({ parameter }) => [parameter.id, toDistribution(parameter)])),
    params: Object.fromEntries(
      active.map(({ parameter, value }) => [parameter.id, toInternal(parameter.space, value)]),
    ),
    user_attrs: {
      trial_id: trial.trialId,
      job_id: trial.jobId,
      state: trial.state,
      ...(trial.reason !== null && { reason: trial.reason }),
      ...(trial.costUsd !== null && { cost_usd: trial.costUsd }),
    },
    system_attrs: {},
    intermediate_values: Object.fromEntries(
      // Optuna has no intermediate values of several objectives.
      (hasSeveral ? [] : trial.curve).flatMap(({ step, values }) => {
        const value = values[metricId];
        return typeof value === 'number' && Number.isInteger(step) ? [[String(step), value]] : [];
      }),
    ),
  };
}

function stateOf({ state, isTrialStoppedEarly, objective }: TrialView): number {
  switch (state) {
    case 'REQUESTED':
      return STATES.WAITING;
    case 'ACTIVE':
    case 'STOPPING':
      return STATES.RUNNING;
    case 'SUCCEEDED':
      return objective === null ? STATES.FAIL : isTrialStoppedEarly ? STATES.PRUNED : STATES.COMPLETE;
    default:
      return STATES.FAIL;
  }
}

type Active = { readonly parameter: Parameter; readonly value: string | number };

/** The parameters that the trial has values for, with those of its branches. */
function findActive(parameters: readonly Parameter[], values: TrialView['parameters']): readonly Active[] {
  return parameters.flatMap((parameter) => {
    const value = values[parameter.id];
    if (value === undefined || Number.isNaN(toInternal(parameter.space, value))) {
      return [];
    }
    const children = parameter.children.filter(({ parentValues }) => parentValues.includes(value));
    return [
      { parameter, value },
      ...findActive(
        children.map((child) => child.parameter),
        values,
      ),
    ];
  });
}

/** Optuna's distributions are JSON within JSON. It has no reverse logarithmic scale, and no lists of numbers. */
function toDistribution({ space, scale }: Parameter): string {
  switch (space.kind) {
    case 'DOUBLE':
      return JSON.stringify({
        name: 'FloatDistribution',
        attributes: { step: null, low: space.min, high: space.max, log: scale === 'LOG' },
      });
    case 'INTEGER':
      return JSON.stringify({
        name: 'IntDistribution',
        attributes: { log: scale === 'LOG', step: 1, low: space.min, high: space.max },
      });
    case 'CATEGORICAL':
    case 'DISCRETE':
      return JSON.stringify({ name: 'CategoricalDistribution', attributes: { choices: space.values } });
  }
}

/** Of a category, its index; NaN for a value that the parameter does not have. */
function toInternal(space: ParameterSpace, value: string | number): number {
  if (space.kind === 'CATEGORICAL' || space.kind === 'DISCRETE') {
    const choices: readonly (string | number)[] = space.values;
    return choices.includes(value) ? choices.indexOf(value) : Number.NaN;
  }
  return Number(value);
}
