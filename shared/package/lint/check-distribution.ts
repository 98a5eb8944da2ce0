import type { AdviceSubject } from '#shared/package/lint/lint-subject.ts';
import type { Advice } from '#shared/package/lint/package-checks.ts';
import { FRAMEWORKS } from '#shared/package/scan/python-signs.ts';

/** The two checks of how a program spreads; what the one tells, the other does not tell again. */
export function checkDistribution(subject: AdviceSubject): Advice[] {
  const canJudge = subject.isWholeProgram && !subject.isTpuJob;
  return canJudge ? [...checkMisfit(subject), ...checkMissing(subject)] : [];
}

/**
 * NO_DISTRIBUTION_STRATEGY. A warning where the program uses TensorFlow, Keras, PyTorch or JAX and
 * - a machine that trains has several GPUs, and no source has a word of any API that uses more than one: a strategy,
 *   DataParallel, pmap or shardings, a library that spreads by itself, a device that is not written out;
 * - several machines train, or there are parameter servers, and no source has a word of any API that works with others:
 *   TF_CONFIG, a strategy, torch.distributed, RANK, horovod, tf.estimator.
 * Every source must have been seen (SCAN_LIMITS), and the module must be in the packages.
 */
function checkMissing(subject: AdviceSubject): Advice[] {
  const { imports, distribution, gpusPerMachineMax, trainerCount, psCount } = subject;
  const usesFramework = [...imports].some((name) => FRAMEWORKS.has(name));
  const leavesGpus = gpusPerMachineMax > 1 && !distribution.has('SEVERAL_GPUS');
  const isAlone = !distribution.has('SEVERAL_MACHINES') && !isForOneMachine(subject);
  const leavesMachines = trainerCount + psCount > 1 && isAlone;
  if (!usesFramework || !(leavesGpus || leavesMachines)) {
    return [];
  }
  const what = leavesMachines
    ? `The job has ${trainerCount + psCount} machines, and nothing in the sources makes them work together`
    : `A machine has ${gpusPerMachineMax} GPUs, and nothing in the sources uses more than one`;
  return [
    {
      code: 'NO_DISTRIBUTION_STRATEGY',
      severity: 'WARNING',
      message: `${what}: no tf.distribute, torch.distributed, pmap, horovod or the like.`,
      remedy: leavesMachines
        ? 'Run on one machine, or distribute the training: each of them would train the same model by itself.'
        : 'Ask for one GPU, or distribute the training over all of them.',
    },
  ];
}

/**
 * STRATEGY_MISFIT. A warning where several machines train and
 * - the sources call MirroredStrategy or nn.DataParallel, which use the GPUs of one machine, and name no strategy for
 *   several, and nothing speaks of other machines; with Estimator, which does, only if a machine has several GPUs: for
 *   one GPU such programs leave the strategy out;
 * - the sources call ParameterServerStrategy and no other strategy, and the job has no parameter server.
 * A strategy for several machines on one machine does no harm, and is no finding.
 */
function checkMisfit(subject: AdviceSubject): Advice[] {
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
        `The job has ${trainerCount} machines that train, and ${name} uses the GPUs of one.`,
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
        'ParameterServerStrategy keeps the variables on parameter servers, and the job has none.',
        'Add parameterServerCount and parameterServerType, or use MultiWorkerMirroredStrategy.',
      ),
    ];
  }
  return [];
}

function isForOneMachine({ distribution }: AdviceSubject): boolean {
  const isOneMachine = distribution.has('MIRRORED') || distribution.has('DATA_PARALLEL');
  return isOneMachine && !distribution.has('OTHER_CLUSTER_STRATEGY') && !distribution.has('PARAMETER_SERVER');
}

function misfit(message: string, remedy: string): Advice {
  return { code: 'STRATEGY_MISFIT', severity: 'WARNING', message, remedy };
}
