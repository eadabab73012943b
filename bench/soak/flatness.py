"""Is a latency the same at the end of a run as at its beginning? Quantiles of the first and the last quarter."""

import math

LIMIT = 1.10  # the ratio of last to first quarter, and its inverse
QUANTILES = (0.5, 0.99)


def quantile(ordered, share):
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def interval(ordered, share):
    """Between which of the samples the true quantile lies with 95 %: ranks of the binomial distribution."""
    middle, spread = share * len(ordered), 1.96 * math.sqrt(len(ordered) * share * (1 - share))
    low, high = int(middle - spread), math.ceil(middle + spread)
    if low < 0 or high >= len(ordered):
        return 0.0, math.inf  # too few samples to have one beyond the quantile
    return ordered[low], ordered[high]


def is_flat(ratio):
    return 1 / LIMIT <= ratio <= LIMIT


def compare(samples, seconds):
    """Rows {quantile, first, last, ratio, ratio_low, ratio_high, samples} of [(time in the run, value)]."""
    first = sorted(value for at, value in samples if at < seconds / 4)
    last = sorted(value for at, value in samples if 3 * seconds / 4 <= at < seconds)
    rows = []
    for share in QUANTILES if first and last else ():
        (first_low, first_high), (last_low, last_high) = interval(first, share), interval(last, share)
        before, after = quantile(first, share), quantile(last, share)
        rows.append(
            {
                "quantile": share,
                "first": before,
                "last": after,
                "ratio": after / before,
                "ratio_low": last_low / first_high,
                "ratio_high": last_high / first_low if first_low else math.inf,
                "samples": [len(first), len(last)],
            }
        )
    return rows


def judge(row, machine_slowdowns):
    """ "flat", or why it is not: the sample is too small to tell, the machine itself changed, or the server did.

    machine_slowdowns: ratios that are above 1 when the machine gave less in the last quarter.
    """
    ratio = row["ratio"]
    if is_flat(ratio):
        return "flat"
    if row["ratio_low"] <= LIMIT and row["ratio_high"] >= 1 / LIMIT:
        return "too few samples to tell"
    if any(not is_flat(slowdown) and (slowdown > 1) == (ratio > 1) for slowdown in machine_slowdowns):
        return "the machine changed"
    return "NOT FLAT"
