"""What models cost and how much they read at once: a table with a date, which a workspace may replace."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from data.errors import DataError
from data.judge.requests import Usage

__all__ = ["Band", "Model", "PriceTable", "read_prices"]

FILE = "model_prices.json"
UNKNOWN_WINDOW, UNKNOWN_OUTPUT = 200_000, 16_000


@dataclass(frozen=True)
class Band:
    """Prices of requests up to a length, in USD per million tokens.

    Attributes:
        up_to: input tokens of the longest request at these prices.
        input: of a token read.
        output: of a token written.
        cache_write: of a token put into the prompt cache.
        cache_read: of a token read from it.
    """

    up_to: float
    input: float
    output: float
    cache_write: float
    cache_read: float


@dataclass(frozen=True)
class Model:
    """A model as the table has it.

    Attributes:
        name: as the service calls it.
        window: tokens that a request may hold, the reply included.
        most_output: tokens that a reply may have.
        effort: whether it takes an effort setting.
        bands: prices, shortest requests first; empty where the table does not know the model.
        batch_factor: what of the price a request in a batch costs.
    """

    name: str
    window: int
    most_output: int
    effort: bool
    bands: tuple[Band, ...]
    batch_factor: float

    def cost(self, usage: Usage, batch: bool = False) -> float | None:
        """Give the price of a request in USD; None where the table does not know the model."""
        if not self.bands:
            return None
        whole = usage.input_tokens + usage.cache_write_tokens + usage.cache_read_tokens
        band = next((one for one in self.bands if whole <= one.up_to), self.bands[-1])
        price = (
            usage.input_tokens * band.input
            + usage.output_tokens * band.output
            + usage.cache_write_tokens * band.cache_write
            + usage.cache_read_tokens * band.cache_read
        )
        return price / 1e6 * (self.batch_factor if batch else 1.0)


@dataclass(frozen=True)
class PriceTable:
    """The table.

    Attributes:
        date: of the prices.
        source: where they were read.
        default: model that is taken when none is named.
        models: by name.
        batch_factor: what of the price a request in a batch costs.
    """

    date: str
    source: str
    default: str
    models: Mapping[str, Model]
    batch_factor: float

    def model(self, name: str | None = None) -> Model:
        """Give a model by name; else the one RAGTRIAGE_JUDGE_MODEL names, else the default.

        A model that the table does not have is given with careful limits and without a price.
        """
        wanted = (name or os.environ.get("RAGTRIAGE_JUDGE_MODEL") or self.default).strip()
        unknown = Model(wanted, UNKNOWN_WINDOW, UNKNOWN_OUTPUT, False, (), self.batch_factor)
        return self.models.get(wanted, unknown)


def read_prices(folder: Path | None = None) -> PriceTable:
    """Read the table: `model_prices.json` of the workspace where it has one, else the one that comes along.

    Raises:
        DataError: the workspace's own file cannot be read as a price table.
    """
    own = None if folder is None else folder / FILE
    if own is None or not own.is_file():
        return _table(json.loads((files("data.judge") / FILE).read_text("utf-8")))
    try:
        return _table(json.loads(own.read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise DataError(
            f"{own}: cannot be read as a price table ({type(error).__name__}: {error}); accepted: JSON with "
            "date, source, default, batch_factor and models, each with window, most_output, effort and bands"
        ) from error


def _table(given: Mapping[str, Any]) -> PriceTable:
    factor = _price(given["batch_factor"])
    models = {
        str(name): Model(
            str(name),
            _whole(one["window"]),
            _whole(one["most_output"]),
            bool(one["effort"]),
            tuple(_band(band) for band in one["bands"]),
            factor,
        )
        for name, one in given["models"].items()
    }
    return PriceTable(
        str(given["date"]), str(given["source"]), _named(given["default"], models), models, factor
    )


def _named(default: Any, models: Mapping[str, Model]) -> str:
    if default not in models:
        raise ValueError(f"default {default!r} is none of the models")
    return str(default)


def _band(given: Mapping[str, Any]) -> Band:
    return Band(
        _price(given["up_to"]) if "up_to" in given else math.inf,
        _price(given["input"]),
        _price(given["output"]),
        _price(given["cache_write"]),
        _price(given["cache_read"]),
    )


def _price(value: Any) -> float:
    found = float(value)
    if not math.isfinite(found) or found < 0:
        raise ValueError(f"{value!r} is no price; accepted: 0 or more")
    return found


def _whole(value: Any) -> int:
    found = int(value)
    if found < 1:
        raise ValueError(f"{value!r} tokens; accepted: a whole number of 1 or more")
    return found
