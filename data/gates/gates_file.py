"""The tables of a gates.toml as pydantic models, and their errors in words."""

import math
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from ragtriage.data.comparison.compared_metrics import FAMILIES
from ragtriage.metrics.gates.gates import Gate, GateKind, GateRule, GateUnit
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.metric_registry import REGISTRY, bounds_of, declared, is_share, lookup
from ragtriage.metrics.schema.scores import MetricsError

Text = Annotated[str, StringConstraints(strip_whitespace=True)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
SECTIONS = '[[gate]], [[project.NAME.gate]], rule = "mean" at the top'
ACCEPTED = {  # by setting; where it depends on others, the validator says it
    "severity": '"block" or "warn"',
    "reason": "a text in quotes",
    "required": "true or false",
    "where_measured": "true or false",
    "unless_right": "true or false",
    "off": "true or false",
    "slice": '{ NAME = "VALUE" } with one name, e.g. { query_type = "multi-hop" }',
    "metric": "a text in quotes",
    "at_least": "a number from 0 to 1",
    "drop": "a number from 0 up, and below 1 where the metric is a share, e.g. 0.05",
    "checks": "a text in quotes",
    "fewest": "a whole number from 0 up",
    "tag": "a text in quotes",
    "values": 'a list of texts, e.g. ["yes", "true"]',
    "rule": '"interval" or "mean"',
    "percentile": "a number between 0 and 100, e.g. 95",
    "over": '"questions" or "samples"',
}


def _misfit(what: str, accepted: str, setting: str = "") -> PydanticCustomError:
    """Return an error for a validator to raise; the setting is named where it is not the validator's own."""
    context = {"what": what, "accepted": accepted, "setting": setting}
    return PydanticCustomError("misfit", "{what}; accepted: {accepted}", context)


class _Table(BaseModel):
    """A TOML table: no unknown settings, and no value is converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class _GateTable(_Table):
    """What every [[gate]] may have; `off` comes first, because other settings depend on it."""

    off: bool = False
    severity: Literal["block", "warn"] | None = Field(None, validate_default=True)
    required: bool = False
    where_measured: bool = False
    unless_right: bool = False
    reason: Text = ""
    slice: Annotated[dict[str, str], Field(min_length=1, max_length=1)] | None = None

    @field_validator("severity")
    @classmethod
    def _severity_is_set(cls, severity: str | None, info: ValidationInfo) -> str:
        if severity is None and not info.data.get("off"):
            raise _misfit("is missing", ACCEPTED["severity"])
        return severity or "block"

    @field_validator("required")
    @classmethod
    def _required_blocks(cls, required: bool, info: ValidationInfo) -> bool:
        if required and info.data.get("severity") == "warn":
            raise _misfit("a gate that only warns cannot be required", 'severity = "block"')
        return required

    @field_validator("where_measured", "unless_right")
    @classmethod
    def _measured_or_required(cls, excuse: bool, info: ValidationInfo) -> bool:
        if excuse and info.data.get("required"):
            raise _misfit("a required gate must be measured", f"one of required and {info.field_name}")
        return excuse

    def _gate(
        self,
        kind: GateKind,
        metric: str,
        threshold: float,
        at_most: bool,
        values: tuple[str, ...] = (),
        rule: GateRule = "interval",
    ) -> Gate:
        group = next(iter(self.slice.items())) if self.slice else None
        severity = self.severity or "block"
        return Gate(
            metric,
            threshold,
            at_most,
            severity,
            self.reason,
            kind,
            self.required,
            group,
            values,
            rule,
            where_measured=self.where_measured,
            unless_right=self.unless_right,
        )


class _RuledTable(_GateTable):
    """A gate on a mean, a change or a share, which has a rule; None takes that of the file."""

    rule: GateRule | None = None


class _LevelTable(_RuledTable):
    """A gate that holds a metric against a threshold."""

    metric: Name
    at_least: float | None = None
    at_most: float | None = Field(None, validate_default=True)

    @field_validator("metric")
    @classmethod
    def _full_name(cls, metric: str) -> str:
        return _resolved(metric)

    @field_validator("at_least", "at_most", mode="wrap")
    @classmethod
    def _within_bounds(
        cls, value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> float | None:
        if value is None:
            return None
        low, high = bounds_of(info.data.get("metric", ""))
        try:
            number: float = handler(value)
        except ValidationError:
            number = math.nan
        if not low <= number <= high:
            raise _misfit(f"{value!r}"[:80], f"a number from {low:g} to {high:g}".replace("to inf", "up"))
        return number

    @field_validator("at_most")
    @classmethod
    def _one_threshold(cls, at_most: float | None, info: ValidationInfo) -> float | None:
        """Check that there is one threshold, on the side that the metric's direction asks for."""
        if "at_least" not in info.data:  # it has an error of its own
            return at_most
        at_least, metric = info.data["at_least"], info.data.get("metric", "")
        n_thresholds = (at_least is not None) + (at_most is not None)
        if n_thresholds == 0 and info.data.get("off"):
            return at_most
        if n_thresholds != 1:
            raise _misfit(f"{n_thresholds} thresholds", "either at_least or at_most", "at_least")
        setting = "at_least" if at_most is None else "at_most"
        side = "at_most" if _lower_is_better(metric) else "at_least"
        metric_declared = declared(metric)
        directed = metric_declared is not None and metric_declared.higher_is_better is not None
        if directed and setting != side:
            raise _misfit(
                f"{metric} is better when {'lower' if side == 'at_most' else 'higher'}", side, setting
            )
        return at_most

    def _level(self, kind: GateKind, rule: GateRule) -> Gate:
        """Return the gate under its own rule or else that of the file; one that is off needs no threshold."""
        at_most = self.at_most is not None or (self.at_least is None and _lower_is_better(self.metric))
        threshold = (self.at_most if at_most else self.at_least) or 0.0
        return self._gate(kind, self.metric, threshold, at_most, rule=self.rule or rule)


class MeanTable(_LevelTable):
    """A gate on the mean of a metric."""

    kind: Literal["mean"] = "mean"

    def to_gate(self, rule: GateRule = "interval") -> Gate:
        """Return the gate under its own rule or else that of the file."""
        return self._level("mean", rule)


class PercentileTable(_LevelTable):
    """A gate on a percentile of a metric, over questions or single samples."""

    kind: Literal["percentile"]
    percentile: float = Field(gt=0, lt=100)
    over: GateUnit = "questions"

    @field_validator("metric")
    @classmethod
    def _of_values(cls, metric: str) -> str:
        if metric == GOOD_SHARE:
            raise _misfit("the pass rate is a share and has no percentiles", "a metric of docs/metrics.md")
        return metric

    def to_gate(self, rule: GateRule = "interval") -> Gate:
        """Return the gate under its own rule or else that of the file."""
        return replace(self._level("percentile", rule), percentile=self.percentile, over=self.over)


class RegressionTable(_RuledTable):
    """A gate on how far a metric, or each of a family, may fall behind the baseline."""

    kind: Literal["regression"]
    metric: Name
    drop: float = Field(0.05, ge=0)

    @field_validator("metric")
    @classmethod
    def _full_name(cls, metric: str) -> str:
        return metric if metric in FAMILIES else _resolved(metric)

    @field_validator("drop")
    @classmethod
    def _within_scale(cls, drop: float, info: ValidationInfo) -> float:
        metric = info.data.get("metric", "")
        if drop >= 1 and (metric in FAMILIES or metric == GOOD_SHARE or is_share(metric)):
            raise _misfit(f"{drop:g} allows every loss", ACCEPTED["drop"])
        return drop

    def to_gate(self, rule: GateRule = "interval") -> Gate:
        """Return the gate under its own rule or else that of the file."""
        return self._gate("regression", self.metric, self.drop, True, rule=self.rule or rule)


class ChecksTable(_RuledTable):
    """A gate on the share of checks of a suite or a kind that passed."""

    kind: Literal["checks"]
    checks: Name
    at_least: float = Field(1.0, ge=0, le=1)
    fewest: int = Field(0, ge=0)

    def to_gate(self, rule: GateRule = "interval") -> Gate:
        """Return the gate under its own rule or else that of the file."""
        gate = self._gate("checks", self.checks, self.at_least, False, rule=self.rule or rule)
        return replace(gate, fewest=self.fewest)


class CriticalTable(_GateTable):
    """A gate on cases that must not newly fail."""

    kind: Literal["critical"]
    tag: Text = "critical"
    values: list[str] = Field(["yes", "true"], min_length=1)

    def to_gate(self, rule: GateRule = "interval") -> Gate:  # noqa: ARG002 - cases are counted under any rule
        """Return the gate."""
        return self._gate("critical", self.tag, 0.0, True, tuple(self.values))


GateTable: TypeAlias = MeanTable | PercentileTable | RegressionTable | ChecksTable | CriticalTable
TABLES: Mapping[str, type[_GateTable]] = {
    "mean": MeanTable,
    "percentile": PercentileTable,
    "regression": RegressionTable,
    "checks": ChecksTable,
    "critical": CriticalTable,
}


def _kind_of(value: Any) -> str | None:
    if isinstance(value, dict):
        return str(value.get("kind", "mean"))
    return value.kind if isinstance(value, GateTable) else None


AnyGateTable = Annotated[
    Annotated[MeanTable, Tag("mean")]
    | Annotated[PercentileTable, Tag("percentile")]
    | Annotated[RegressionTable, Tag("regression")]
    | Annotated[ChecksTable, Tag("checks")]
    | Annotated[CriticalTable, Tag("critical")],
    Discriminator(_kind_of),
]


class ProjectTable(_Table):
    """[project.NAME]: the gates of one project."""

    gate: list[AnyGateTable] = []


class GatesFile(_Table):
    """A whole gates.toml."""

    rule: GateRule = "interval"
    gate: list[AnyGateTable] = []
    project: dict[str, ProjectTable] = {}


def _resolved(metric: str) -> str:
    """Return the full name of a metric; a name that nobody declared may be a score of the imported files."""
    if metric == GOOD_SHARE:
        return metric
    try:
        return lookup(metric).name
    except MetricsError as error:
        if f"{metric}@k" in REGISTRY:
            raise _misfit(f"{metric!r} needs a rank k", f"e.g. {metric}@5") from error
        if "@" in metric:
            accepted = "a metric of docs/metrics.md, with its rank k where it takes one"
            raise _misfit(str(error), accepted) from error
        return metric


def _lower_is_better(metric: str) -> bool:
    metric_declared = declared(metric)
    return metric_declared is not None and metric_declared.higher_is_better is False


def describe(details: ErrorDetails) -> tuple[str, str, str]:
    """Return where an error is, what is wrong, and what would be accepted."""
    # A location reads ("gate", index, kind, setting, ...), for a project with "project", NAME before it; the
    # kind is pydantic's addition. What follows the setting, inside `slice` or `values`, is left out.
    steps = list(details["loc"])
    index = next((at for at, step in enumerate(steps) if isinstance(step, int)), len(steps))
    section = ".".join(str(step)[:60] for step in steps[:index])
    value, error = details["input"], details["type"]
    if len(steps) <= index + 2:
        number = f"[{int(steps[index]) + 1}]" if index < len(steps) else ""
        return _describe_section(section, number, error, value)
    kind, setting = str(steps[index + 1]), str(steps[index + 2])
    place = f"{section}[{int(steps[index]) + 1}].{setting}"
    if error == "misfit":
        context = details["ctx"]
        place = f"{place.rpartition('.')[0]}.{context['setting'] or setting}"
        return place, context["what"], context["accepted"]
    if error == "extra_forbidden":
        own = [name for name in TABLES[kind].model_fields if name not in _GateTable.model_fields]
        settings = [*(name for name in own if name != "kind"), "kind", *_GateTable.model_fields]
        near = get_close_matches(setting, settings, n=2)
        hint = f" (near names: {', '.join(near)})" if near else ""
        return place, f"is not a setting of a {kind} gate{hint}", ", ".join(settings)
    return place, "is missing" if error == "missing" else f"{value!r}"[:80], ACCEPTED[setting]


def _describe_section(section: str, number: str, error: str, value: Any) -> tuple[str, str, str]:
    """Describe an error that is not in a setting of a gate."""
    if error == "union_tag_invalid":
        return f"{section}{number}.kind", f"{value['kind']!r}"[:80], ", ".join(TABLES)
    if section == "rule":
        return section, f"{value!r}"[:80], ACCEPTED["rule"]
    if section == "project":
        return section, "is not a table", "[[project.NAME.gate]]"
    if error == "extra_forbidden" and "." not in section:
        return section, "is not a section of this file", SECTIONS
    if error == "extra_forbidden" or not section.endswith("gate"):
        project = ".".join(section.split(".")[:2])
        return project, "holds something that is not a gate", f"[[{project}.gate]]"
    return section, "is not a list of gates", f"[[{section}]]"
