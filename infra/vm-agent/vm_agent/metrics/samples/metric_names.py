"""Which names are metrics, and which metrics are losses: one list for what is printed and what is reported."""

import re
from functools import lru_cache
from typing import FrozenSet, List, Set

NAME_CHARS_MAX = 128
# Begins the names of what was read from the log without being asked for.
LOG_PREFIX = 'log/'
WORDS = re.compile(r'[a-z]+\d*')
# Written apart from its words: valLoss, trainLoss.
HUMPS = re.compile(r'(?<=[a-z0-9])(?=[A-Z])')
# A lower value is better, as a rule, and one that is not finite says that the training has failed. `learn` is CatBoost's.
LOSSES = frozenset(
    'loss losses logloss nll crossentropy xent mse rmse mae msle rmsle mape objective cost ppl perplexity elbo nelbo bpb '
    'bpc bpd nloglik deviance l1 l2 huber ce bce nce infonce learn'.split()
)
# One of these words makes a name that of a metric. Its line is one of a training, with or without a step.
SCORES = LOSSES - {'objective', 'cost'} | frozenset(
    'acc accuracy auc auroc f1 precision recall r2 bleu rouge rougel meteor iou miou map ap ap50 dice jaccard reward rew return '
    'cer wer psnr ssim fid kl acc1 acc5 top1 top5'.split()
)
# Metrics only in a line of a training.
OTHERS = frozenset('lr learning rate grad norm gnorm score metric entropy beta mcc kappa ndcg mrr hits objective cost error err'.split())
# With one of these, a loss is a setting, the best value so far, or something else.
NO_LOSSES = frozenset(
    'best min lowest prev previous scale scaler weight weights coef coeff fn function stop packet profit mask threshold '
    'filter type factor decay margin lambda time seconds sec ms count num id size limit budget steps epochs'.split()
)
# A name with one of these words is not a metric, unless it ends as that of a loss or a score.
NO_METRICS = NO_LOSSES | frozenset(
    'time eta elapsed timestamp ts date duration version port pid seed size shape device rank gpu cpu memory mem id num '
    'count total samples runtime second seconds sec secs ms per wps ups wpb bsz it its speed data batch params param '
    'alpha gamma momentum delta clip oom line workers layers dim hidden steps epochs iters epoch step iter iteration '
    'updates length width height budget limit folds fold flops throughput'.split()
)
EVALUATIONS = frozenset('val valid validation eval evaluation test dev'.split())
# Losses of opponents and of reinforcement learning rise and fall in a training that goes well; an objective may be one
# that the training makes larger.
UNSTEADY = EVALUATIONS | frozenset(
    'gen generator disc discriminator adv adversarial gan g d policy value vf actor critic entropy kl alpha q qf objective '
    'elbo learn td ppo robust'.split()
)
# The same metric has a name with and without these.
TRAINING_WORDS = frozenset('log train training epoch step batch avg average mean'.split())


def words_of(name: str) -> FrozenSet[str]:
    """Returns the words of a name in lowercase letters; digits at the start of a word are left out."""
    return frozenset(_list_words(name))


def _list_words(name: str) -> List[str]:
    return WORDS.findall(HUMPS.sub('_', name[:NAME_CHARS_MAX]).lower())


@lru_cache(512)
def is_loss(name: str) -> bool:
    """Whether a value of this name that is not finite says that the training has failed."""
    words = words_of(name)
    return _has(words, LOSSES) and not words & NO_LOSSES


def is_steady_loss(name: str) -> bool:
    """Whether the training makes this value smaller, so that a rise far above its best is a divergence."""
    return is_loss(name) and not words_of(name) & UNSTEADY


@lru_cache(512)
def is_sure(name: str) -> bool:
    """Whether a word is the name of a metric, whatever stands beside it."""
    words = _list_words(name)
    return bool(words) and _has({words[-1]}, SCORES) and not NO_LOSSES.intersection(words)


@lru_cache(512)
def is_score(name: str) -> bool:
    """Whether a name says that its line is one of a training."""
    words = words_of(name)
    return is_sure(name) or is_loss(name) or (_has(words, SCORES) and not words & NO_METRICS)


def is_metric(name: str, text: str, is_counted: bool) -> bool:
    """
    `text` is the value; `is_counted`: the line says where the training stands, and any fraction in it is a metric.
    """
    words = words_of(name)
    if is_sure(name) or is_loss(name):
        return True
    if not words or words & NO_METRICS:
        return False
    # A number without a fraction is rather an id or a setting.
    return _has(words, SCORES) or bool(words & OTHERS) or (is_counted and not text.lstrip('+-').isdigit())


def kind_of(name: str) -> FrozenSet[str]:
    """
    Returns what the names of one metric have in common: `loss`, `train/loss` and `epoch_loss`, but not `val_loss`.
    """
    words = words_of(name)
    kind = words - TRAINING_WORDS - EVALUATIONS
    return kind | {'val'} if words & EVALUATIONS else kind


def _has(words: 'FrozenSet[str] | Set[str]', of: FrozenSet[str]) -> bool:
    """Whether one of the words is in a set, with or without a number at its end: `loss1`."""
    return bool(words & of) or any(word.rstrip('0123456789') in of for word in words)
