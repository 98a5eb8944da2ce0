"""Which names in a printed line are metrics."""

import re

# One of these parts makes a name that of a metric. Its line is one of a training, with or without a step.
SCORES = frozenset(
    'loss acc accuracy auc auroc f1 precision recall mae mse rmse mape rmsle r2 ppl perplexity bleu rouge rougel meteor '
    'iou miou map dice jaccard reward return nll elbo logloss crossentropy cer wer psnr ssim fid kl top1 top5 bpb bpc'.split()
)
# Metrics only in a line of a training.
OTHERS = frozenset('lr learning rate grad norm gnorm score metric entropy beta mcc kappa ndcg mrr hits'.split())
# A name with one of these parts is never a metric.
NO_METRICS = frozenset(
    'time eta elapsed timestamp ts date duration version port pid seed size shape device rank gpu cpu memory mem id num '
    'count total samples runtime second seconds sec secs ms per wps ups wpb bsz it its speed data batch params param '
    'weight weights coef alpha gamma momentum decay threshold delta clip oom line workers layers dim hidden '
    'steps epochs iters epoch step iter iteration updates max_len length width height budget limit folds fold best '
    'flops throughput'.split()
)
PARTS = re.compile(r'[_/.@\s-]+|(?<=[a-z])(?=[A-Z])')


def _parts(name: str) -> 'list[str]':
    return [part.lower() for part in PARTS.split(name) if part]


def is_sure(name: str) -> bool:
    """Whether a word is the name of a metric, whatever stands beside it."""
    parts = _parts(name)
    return bool(parts) and parts[-1] in SCORES and not NO_METRICS.intersection(parts)


def is_loss_like(name: str) -> bool:
    parts = _parts(name)
    return bool(SCORES.intersection(parts)) and not NO_METRICS.intersection(parts)


def is_metric(name: str, text: str, is_counted: bool) -> bool:
    """`text` is the value; `is_counted`: the line says where the training stands."""
    parts = _parts(name)
    if not parts or NO_METRICS.intersection(parts):
        return False
    if SCORES.intersection(parts) or OTHERS.intersection(parts):
        return True
    # A number without a fraction is rather an id or a setting.
    return is_counted and not text.lstrip('+-').isdigit()
