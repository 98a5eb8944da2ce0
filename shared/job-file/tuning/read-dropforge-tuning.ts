import { openOwnMapping, PARAMETER, TUNE } from '#shared/job-file/formats/dropforge/fields.ts';
import {
  ALGORITHMS,
  findWord,
  GOALS,
  PARAMETER_TYPES,
  SCALES,
  type Words,
} from '#shared/job-file/formats/dropforge/values.ts';
import { type Findings, type Located, refuse } from '#shared/job-file/parser/findings.ts';
import {
  type FoundNode,
  isEmpty,
  readInteger,
  readNumber,
  readText,
  readTextList,
  refuseKind,
} from '#shared/job-file/parser/read-values.ts';
import type { SourceNode } from '#shared/job-file/parser/source-tree.ts';
import { readAutomaticStopping } from '#shared/job-file/tuning/read-automatic-stopping.ts';
import type { ParameterDraft, StudyDraft } from '#shared/job-file/tuning/study-draft.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

const WHOLE_PATTERN = /^[+-]?\d+$/;

/** Reads `tune` of Dropforge's own form; its words become those of AI Platform's HyperparameterSpec. */
export function readTuning(found: FoundNode, findings: Findings): StudyDraft | undefined {
  if (isEmpty(found.node, found.path, findings)) {
    return undefined;
  }
  const tune = openOwnMapping(found, TUNE, findings);
  const place = { path: found.path, line: found.node.line };
  const id = readText(tune.metric, findings);
  return {
    ...place,
    metrics: [
      {
        ...place,
        id,
        goal: readWord(tune.goal, GOALS, findings) ?? { ...(id ?? place), value: GOALS.maximize },
        safetyThreshold: undefined,
        safeTrialsFractionMin: undefined,
      },
    ],
    algorithm: readWord(tune.algorithm, ALGORITHMS, findings),
    maxTrials: readInteger(tune.trials, findings),
    parallelTrials: readInteger(tune.parallel, findings),
    maxFailedTrials: undefined,
    earlyStopping: readAutomaticStopping(tune.earlyStopping, findings),
    stopping: undefined,
    measurement: undefined,
    parameters: readParameters(tune.parameters, findings),
    resumeJobId: undefined,
  };
}

/** One of a few short words, as the API spells it; undefined where it is none, which is then among the findings. */
function readWord(found: FoundNode | undefined, words: Words, findings: Findings): Located<string> | undefined {
  const text = readText(found, findings);
  const meant = text && findWord(text.value, words);
  if (text === undefined || meant !== undefined) {
    return text && { ...text, value: meant ?? '' };
  }
  const names = Object.keys(words);
  const message = `${text.path} cannot be "${text.value}".`;
  const remedy = `${didYouMean(text.value, names)}Write ${names.slice(0, -1).join(', ')} or ${names.at(-1)}.`;
  refuse(text, { code: 'UNKNOWN_VALUE', message, remedy }, findings);
  return undefined;
}

function readParameters(found: FoundNode | undefined, findings: Findings): readonly ParameterDraft[] | undefined {
  if (found === undefined || isEmpty(found.node, found.path, findings)) {
    return undefined;
  }
  if (found.node.kind !== 'MAPPING') {
    refuseKind(found, 'a mapping of names to ranges or lists', findings);
    return undefined;
  }
  const parameters = found.node.entries.flatMap(({ key, line, value: node }) => {
    const id = { value: key, path: `${found.path}.${key}`, line };
    return readParameter({ path: id.path, node }, id, findings) ?? [];
  });
  return found.node.entries.length === 0 ? undefined : parameters;
}

function readParameter(found: FoundNode, id: Located<string>, findings: Findings): ParameterDraft | undefined {
  if (isEmpty(found.node, found.path, findings)) {
    return undefined;
  }
  const blank = { path: found.path, line: id.line, id, min: undefined, max: undefined, scale: undefined, children: [] };
  if (found.node.kind === 'LIST') {
    const kind = { ...id, value: kindOfValues(found.node) };
    return { ...blank, kind, values: readValues(found, kind.value, findings) };
  }
  if (found.node.kind === 'SCALAR') {
    refuseKind(found, 'a list of values, or a mapping of min and max', findings);
    return undefined;
  }
  const fields = openOwnMapping(found, PARAMETER, findings);
  const unsaid = fields.values === undefined ? kindOfBounds(fields.min, fields.max) : kindOfValues(fields.values.node);
  const kind = readWord(fields.type, PARAMETER_TYPES, findings) ?? { ...id, value: unsaid };
  return {
    ...blank,
    kind,
    min: readNumber(fields.min, findings),
    max: readNumber(fields.max, findings),
    values: readValues(fields.values, kind.value, findings),
    scale: readWord(fields.scale, SCALES, findings),
  };
}

/** Discrete numbers are brought into one spelling, so that they are printed as they were read. */
function readValues(
  found: FoundNode | undefined,
  kind: string,
  findings: Findings,
): readonly Located<string>[] | undefined {
  if (found?.node.kind !== 'LIST' || kind !== PARAMETER_TYPES.discrete) {
    return readTextList(found, findings);
  }
  const items = found.node.items.map((item) =>
    item.kind === 'SCALAR' && typeof item.value === 'number' ? { ...item, text: String(item.value) } : item,
  );
  return readTextList({ path: found.path, node: { ...found.node, items } }, findings);
}

/** Nothing but numbers is discrete. */
function kindOfValues(node: SourceNode): string {
  const items = node.kind === 'LIST' ? node.items : [node];
  const areNumbers = items.every((item) => item.kind === 'SCALAR' && typeof item.value === 'number');
  return areNumbers && items.length > 0 ? PARAMETER_TYPES.discrete : PARAMETER_TYPES.categorical;
}

/** A point or an exponent makes a double. */
function kindOfBounds(...bounds: readonly (FoundNode | undefined)[]): string {
  const areWhole = bounds.every((found) => found?.node.kind === 'SCALAR' && WHOLE_PATTERN.test(found.node.text));
  return areWhole ? PARAMETER_TYPES.integer : PARAMETER_TYPES.double;
}
