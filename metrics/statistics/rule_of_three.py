"""What no failure in n trials still allows."""

from __future__ import annotations

from ragtriage.metrics.schema.scores import MetricsError


def still_possible(trials: int, confidence: float = 0.95) -> float:
    """Return the highest failure rate that n trials without a failure do not rule out, about 3 / n.

    1 - (1 - confidence) ** (1 / n), the exact one-sided bound: a system that fails more often would have
    shown no failure with a probability below 1 - confidence.

    Args:
        trials: independent trials, all of them passed.
        confidence: of the bound, between 0 and 1.

    Returns:
        The bound; 1 for no trial.

    Raises:
        MetricsError: trials are negative, or the confidence is not between 0 and 1.

    Source: Hanley and Lippman-Hand 1983, "If nothing goes wrong, is everything all right?", JAMA 249(13).
    """
    if trials < 0 or not 0 < confidence < 1:
        raise MetricsError(f"{trials} trials at {confidence}; accepted: 0 or more, and a share below 1")
    return 1.0 if trials == 0 else float(1 - (1 - confidence) ** (1 / trials))
