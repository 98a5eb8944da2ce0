"""MLflow's search syntax for runs: `metrics.loss < 1 AND tags.team = 'x'`, and `metrics.loss DESC`."""

import operator
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from vm_agent.tracking.error import invalid
from vm_agent.tracking.run import Run

FILTER_CHARS_MAX = 4_096
CONDITION = re.compile(
    r'\s*(?:(?P<kind>metrics?|params?|parameters?|tags?|attributes?|attr|run)\s*\.\s*)?'
    r'(?P<key>`[^`]{1,250}`|"[^"]{1,250}"|[\w./-]{1,250})\s*'
    r'(?P<operator><=|>=|!=|=|<|>|\bI?LIKE\b|\bNOT\s+IN\b|\bIN\b)\s*'
    r"""(?P<value>'[^']*'|"[^"]*"|-?[\d.]+(?:[eE][+-]?\d+)?|\([^()]*\))\s*""",
    re.IGNORECASE,
)
AND = re.compile(r'AND\b', re.IGNORECASE)
ORDER = re.compile(r'\s*(?:(\w+)\s*\.\s*)?(`[^`]+`|"[^"]+"|[\w./-]+)(?:\s+(ASC|DESC))?\s*', re.IGNORECASE)
COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    '=': operator.eq,
    '!=': operator.ne,
    '<': operator.lt,
    '>': operator.gt,
    '<=': operator.le,
    '>=': operator.ge,
}
ATTRIBUTES: Mapping[str, str] = {'created': 'start_time', 'Created': 'start_time', 'run name': 'run_name'}

Condition = Callable[[Run], bool]


def select_runs(runs: Sequence[Run], filter_text: str, order_by: Sequence[str]) -> List[Run]:
    """Returns the runs that match, in order; the newest first by default. Raises TrackingError."""
    conditions = parse_filter(filter_text)
    found = [run for run in runs if all(condition(run) for condition in conditions)]
    found.sort(key=lambda run: (run.start_time_ms, run.run_id), reverse=True)
    for text in reversed(list(order_by)[:10]):
        match = ORDER.fullmatch(str(text)[:FILTER_CHARS_MAX])
        if match is None:
            raise invalid(f'{str(text)[:80]!r} is not a valid order; write one such as metrics.loss DESC.')
        kind, key, is_descending = match[1] or 'attribute', _unquote(match[2]), (match[3] or '').upper() == 'DESC'
        with_value = [run for run in found if _value_of(run, kind, key) is not None]
        try:
            with_value.sort(key=lambda run: _value_of(run, kind, key), reverse=is_descending)
        except TypeError:
            raise invalid(f'Runs cannot be ordered by {key}.') from None
        # As MLflow: runs without the value are last in either order.
        found = with_value + [run for run in found if _value_of(run, kind, key) is None]
    return found


def parse_filter(text: str) -> List[Condition]:
    """Returns conditions that all must hold. Raises TrackingError."""
    if len(text) > FILTER_CHARS_MAX:
        raise invalid(f'The filter has {len(text)} characters; the most is {FILTER_CHARS_MAX}.')
    conditions: List[Condition] = []
    at = 0
    while text[at:].strip():
        if conditions:
            joint = AND.match(text, at)
            at = len(text) + 1 if joint is None else joint.end()
        match = CONDITION.match(text, at)
        if match is None:
            raise invalid(
                f"{text[:80]!r} is not a valid filter; write conditions such as metrics.loss < 1 AND tags.team = 'x'."
            )
        conditions.append(_condition(match))
        at = match.end()
    return conditions


def _condition(match: 're.Match[str]') -> Condition:
    kind, key = match['kind'] or 'attribute', _unquote(match['key'])
    symbol, text = ' '.join(match['operator'].upper().split()), match['value']

    def holds(run: Run) -> bool:
        actual = _value_of(run, kind, key)
        if actual is None:
            return False
        if symbol in ('LIKE', 'ILIKE'):
            return _is_like(str(actual), _unquote(text), symbol == 'ILIKE')
        if symbol in ('IN', 'NOT IN'):
            values = {_unquote(part.strip()) for part in text.strip('()').split(',')}
            return (str(actual) in values) == (symbol == 'IN')
        compare = COMPARE.get(symbol)
        wanted = _number(text) if isinstance(actual, (int, float)) else _unquote(text)
        return compare is not None and wanted is not None and compare(actual, wanted)

    return holds


def _is_like(actual: str, pattern: str, ignores_case: bool) -> bool:
    """SQL's LIKE, matched part by part: a regular expression with many wildcards could take forever."""
    if ignores_case:
        actual, pattern = actual.lower(), pattern.lower()
    first, *rest = pattern.split('%')
    if not rest:
        return actual == pattern
    if not actual.startswith(first):
        return False
    at = len(first)
    *inner, last = rest
    for part in inner:
        found = actual.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(actual) - at >= len(last) and actual.endswith(last)


def _value_of(run: Run, kind: str, key: str) -> Any:
    kind = kind.lower()
    if kind.startswith('metric'):
        metric = run.metrics.get(key)
        return None if metric is None else metric.value
    if kind.startswith('param'):
        return run.params.get(key)
    if kind.startswith('tag'):
        return run.tags.get(key)
    return run.info().get(ATTRIBUTES.get(key, key))


def _unquote(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in '`"\'' else text


def _number(text: str) -> Optional[float]:
    try:
        return float(_unquote(text))
    except ValueError:
        return None


Page = Tuple[List[Any], Dict[str, str]]


def page_of(items: Sequence[Any], body: Mapping[str, Any], count_max: int) -> Page:
    """Returns one page, and its `next_page_token` if there is another. Raises TrackingError."""
    token = str(body.get('page_token') or '0')
    if not token.isdigit() or len(token) > 9:
        raise invalid('The page token is not valid: pass the next_page_token of the page before.')
    wanted = body.get('max_results')
    count = int(wanted) if isinstance(wanted, (int, str)) and str(wanted).isdigit() else count_max
    start, end = int(token), int(token) + max(1, min(count, count_max))
    return list(items[start:end]), ({'next_page_token': str(end)} if end < len(items) else {})
