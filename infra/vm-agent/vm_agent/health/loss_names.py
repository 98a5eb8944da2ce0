"""Which metrics are losses, by their names: a lower value is better, and one that is not finite ends the training."""

import re

NAME_CHARS_MAX = 128
TOKENS = re.compile(r'[a-z]+')
# Written apart from its words: valLoss, trainLoss.
HUMPS = re.compile(r'(?<=[a-z0-9])(?=[A-Z])')
LOSS_TOKENS = frozenset(('loss', 'losses', 'logloss', 'nll', 'crossentropy', 'xent', 'mse', 'rmse', 'mae'))
# With these, it is a setting, a best value so far, or not a loss at all.
OTHER_TOKENS = frozenset(
    ('best', 'min', 'lowest', 'prev', 'previous', 'scale', 'scaler', 'weight', 'weights', 'fn', 'stop', 'packet', 'profit')
)
VALIDATION_TOKENS = frozenset(('val', 'valid', 'validation', 'eval', 'evaluation', 'test', 'dev'))
# Losses of opponents and of reinforcement learning rise and fall in a training that goes well.
UNSTEADY_TOKENS = frozenset(
    (
        'gen', 'generator', 'disc', 'discriminator', 'adv', 'adversarial', 'gan', 'g', 'd',
        'policy', 'value', 'vf', 'actor', 'critic', 'entropy', 'kl', 'alpha', 'q', 'qf',
    )
)  # fmt: skip


def _tokens(name: str) -> frozenset:  # type: ignore[type-arg]
    return frozenset(TOKENS.findall(HUMPS.sub('_', name[:NAME_CHARS_MAX]).lower()))


def is_loss(name: str) -> bool:
    """Whether a value of this name that is not finite says that the training has failed."""
    tokens = _tokens(name)
    return bool(tokens & LOSS_TOKENS) and not tokens & OTHER_TOKENS


def is_steady_loss(name: str) -> bool:
    """Whether the training makes this value smaller, so that a rise far above its best is a divergence."""
    return is_loss(name) and not _tokens(name) & (UNSTEADY_TOKENS | VALIDATION_TOKENS)
