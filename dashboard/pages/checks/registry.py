"""The suites whose section draws more than tables; see ragtriage.data.suites.detail for how to add one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ragtriage.dashboard.pages.checks.router import router_section
from ragtriage.dashboard.pages.checks.safety import safety_section
from ragtriage.dashboard.shell.session import View

SECTIONS: Mapping[str, Callable[[View, Any], None]] = {  # by suite; called with the view and its SuiteDetail
    "router": router_section,
    "safety": safety_section,
}
