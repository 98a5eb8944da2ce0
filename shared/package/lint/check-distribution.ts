import type { LintSubject } from '#shared/package/lint/lint-subject.ts';
import type { LintFinding } from '#shared/package/lint/package-checks.ts';
import { FRAMEWORKS } from '#shared/python/python-packages.ts';

/** Both checks of how a program distributes its work; they never report the same problem twice. */
export function checkDistribution(subject: LintSubject): LintFinding[] {
  const canCheck = subject.isWholeProgram && !subject.isTpuJob;
  return canCheck ? [...checkStrategy(subject), ...checkNoStrategy(subject)] : [];
}

/**
 * NO_DISTRIBUTION_STRATEGY: warning if the program uses TensorFlow, Keras, PyTorch or JAX and
 * - a training machine has several GPUs, and no source mentions an API that uses more than one: a strategy,
 *   DataParallel, pmap or shardings, a library that distributes training, a device given by a variable; or
 * - there are several training machines, or parameter servers, and no source mentions an API that works with others:
 *   TF_CONFIG, a strategy, torch.distributed, RANK, horovod, tf.estimator.
 * Requires that every source was scanned and that the packages contain the module.
 */
function checkNoStrategy(subject: LintSubject): LintFinding[] {
  const { imports, distribution, gpusPerMachineMax, trainerCount, psCount } = subject;
  const usesFramework = [...imports].some((name) => FRAMEWORKS.has(name));
  const hasIdleGpus = gpusPerMachineMax > 1 && !distribution.has('SEVERAL_GPUS');
  const isSingleMachine = !distribution.has('SEVERAL_MACHINES') && !isForOneMachine(subject);
  const hasIndependentMachines = trainerCount + psCount > 1 && isSingleMachine;
  if (!usesFramework || !(hasIdleGpus || hasIndependentMachines)) {
    return [];
  }
  const situation = hasIndependentMachines
    ? `The job has ${trainerCount + psCount} machines, but nothing in the sources makes them work together`
    : `A machine has ${gpusPerMachineMax} GPUs, but nothing in the sources uses more than one`;
  return [
    {
      code: 'NO_DISTRIBUTION_STRATEGY',
      severity: 'WARNING',
      message: `${situation}: no tf.distribute, torch.distributed, pmap, horovod or similar.`,
      remedy: hasIndependentMachines
        ? 'Run on one machine, or distribute the training: otherwise each machine trains the same model independently.'
        : 'Request one GPU, or distribute the training over all of them.',
    },
  ];
}

/**
 * STRATEGY_MISFIT: warning if there are several training machines and
 * - the sources call MirroredStrategy or nn.DataParallel, which use the GPUs of one machine, mention no strategy for
 *   several machines, and have no other indicator of several machines; with Estimator, which is such an indicator, only
 *   if a machine has several GPUs, because with one GPU such programs do not use the strategy; or
 * - the sources call ParameterServerStrategy and no other strategy, and the job has no parameter server.
 * A strategy for several machines also works on one machine, and is not reported.
 */
function checkStrategy(subject: LintSubject): LintFinding[] {
  const { distribution, trainerCount, psCount } = subject;
  if (trainerCount < 2) {
    return [];
  }
  const isMirroredEstimator =
    distribution.has('ESTIMATOR') && distribution.has('MIRRORED') && subject.gpusPerMachineMax > 1;
  if (isForOneMachine(subject) && (isMirroredEstimator || !distribution.has('SEVERAL_MACHINES'))) {
    const name = distribution.has('MIRRORED') ? 'tf.distribute.MirroredStrategy' : 'torch.nn.DataParallel';
    return [
      misfit(
        `The job has ${trainerCount} training machines, but ${name} uses the GPUs of only one.`,
        distribution.has('MIRRORED')
          ? 'Use tf.distribute.MultiWorkerMirroredStrategy, or run on one machine.'
          : 'Use torch.nn.parallel.DistributedDataParallel, or run on one machine.',
      ),
    ];
  }
  const isOnlyPs = !distribution.has('OTHER_CLUSTER_STRATEGY') && !distribution.has('MIRRORED');
  if (distribution.has('PARAMETER_SERVER') && isOnlyPs && psCount === 0) {
    return [
      misfit(
        'ParameterServerStrategy stores variables on parameter servers, but the job has none.',
        'Add parameterServerCount and parameterServerType, or use MultiWorkerMirroredStrategy.',
      ),
    ];
  }
  return [];
}

function isForOneMachine({ distribution }: LintSubject): boolean {
  const isOneMachine = distribution.has('MIRRORED') || distribution.has('DATA_PARALLEL');
  return isOneMachine && !distribution.has('OTHER_CLUSTER_STRATEGY') && !distribution.has('PARAMETER_SERVER');
}

function misfit(message: string, remedy: string): LintFinding {
  return { code: 'STRATEGY_MISFIT', severity: 'WARNING', message, remedy };
}
