"""Notifications of alerts by a command and a webhook; what could not be sent is tried again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from pydantic_core import PydanticCustomError

from ragtriage.data.errors import DataError
from ragtriage.data.gates.hook import command_words, run_hook
from ragtriage.data.live.alerts.states import Change, changes, rule_key
from ragtriage.data.live.calls import Calls
from ragtriage.data.live.policy import Policy, checked_webhook
from ragtriage.data.live.posting import post

WEBHOOK_SECONDS = 10.0  # time limit of a request
TRIES = 3
FIRST_WAIT = 1.0  # seconds before the second try; twice as long before the third
Tell = Callable[[Mapping[str, Any]], str]  # what went wrong, "" where nothing did


def channels(policy: Policy, environment: Mapping[str, str]) -> dict[str, Tell]:
    """Return who is told of alerts, by name: "command" and "webhook".

    An address in the environment variable RAGTRIAGE_ALERT_WEBHOOK goes before that of the policy, since it
    may be a secret.

    Raises:
        DataError: the command cannot be split into words, or the address is not accepted.
    """
    found: dict[str, Tell] = {}
    if policy.notify.command:
        words = command_words(policy.notify.command)
        found["command"] = lambda facts: tell_command(words, facts)
    address = environment.get("RAGTRIAGE_ALERT_WEBHOOK") or policy.notify.webhook
    if address:
        checked = checked_address(address)
        found["webhook"] = lambda facts: tell_webhook(checked, facts)
    return found


def tell_command(words: Sequence[str], facts: Mapping[str, Any]) -> str:
    """Run a command for an alert, as `ragtriage watch --on-fail` does for a run that failed.

    Its environment has RAGTRIAGE_PROJECT, RAGTRIAGE_ALERT, RAGTRIAGE_STATE and RAGTRIAGE_SINCE, its standard
    input the facts as JSON.
    """
    names = ("project", "alert", "state", "since")
    variables = {f"RAGTRIAGE_{name.upper()}": str(facts[name]).replace("\0", "") for name in names}
    return run_hook(words, variables, json.dumps(facts, ensure_ascii=False, allow_nan=False))


def checked_address(address: str) -> str:
    """Return the address of a webhook: https, or http on this machine.

    Raises:
        DataError: it is neither; the error does not show it, as it may be a secret.
    """
    try:
        return checked_webhook(address)
    except PydanticCustomError:
        accepted = "https://..., http://localhost..."
        raise DataError(
            f"notify.webhook: must be https, or http on localhost; accepted: {accepted}"
        ) from None


def tell_webhook(
    address: str,
    facts: Mapping[str, Any],
    wait: Callable[[float], None] = time.sleep,
    seconds: float = WEBHOOK_SECONDS,
) -> str:
    """Post the facts of an alert as JSON, `text` being the sentence; return what went wrong, or "".

    Three tries, where the service is not reached, is too slow, answers 429 or has a fault of its own. No
    redirect is followed. What went wrong is said with the host alone, as the rest may be a secret.
    """
    body = json.dumps(facts, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "ragtriage"}
    problem = ""
    for attempt in range(TRIES):
        if attempt:
            wait(FIRST_WAIT * 2 ** (attempt - 1))
        try:
            post(address, body, headers, seconds)
            return ""
        except HTTPError as error:
            error.close()
            problem = f"answered {error.code}"
            if error.code != 429 and error.code < 500:  # it will not take this at another time either
                break
        except (URLError, OSError, HTTPException, ValueError) as error:
            problem = f"is not reached ({getattr(error, 'reason', None) or type(error).__name__})"
    return f"webhook at {urlsplit(address).hostname}: {problem}"


def to_tell(calls: Calls, policy: Policy, now: float, names: Sequence[str]) -> list[tuple[Change, str]]:
    """Return what is still to be told to which channel: the last change of each rule of the policy.

    That it fires is told unless the same rule was told to fire within its cooldown; then it waits, and is
    told if it still fires afterwards. That it is over is told to who was told that it fires.
    """
    noted: dict[str, list[Change]] = {}
    for change in changes(calls):
        noted.setdefault(change.rule, []).append(change)
    told = _told(calls)
    waiting = []
    for rule in policy.alerts:
        of_rule = noted.get(rule_key(rule), [])
        for name in names if of_rule else ():
            latest, heard = of_rule[-1], [it for it in of_rule if _key(it, name) in told]
            if latest in heard:
                continue
            times = [told[_key(it, name)] for it in heard if it.state == "firing"]
            if latest.state == "firing":
                wanted = not times or now - max(times) >= rule.cooldown
            else:  # over is told to who heard last that it fires, also where it fired again in between
                wanted = bool(heard) and heard[-1].state == "firing"
            if wanted:
                waiting.append((latest, name))
    return waiting


def tell_pending(calls: Calls, policy: Policy, now: float, environment: Mapping[str, str]) -> list[str]:
    """Tell what is to be told, and return what went wrong, in sentences; that stays to be told.

    Raises:
        DataError: as for channels.
    """
    tell = channels(policy, environment)
    problems = []
    for change, name in to_tell(calls, policy, now, list(tell)):
        problem = tell[name](change.facts)
        if problem:
            problems.append(f"alert {change.facts['alert']!r}: could not notify, will retry: {problem}")
            continue
        with calls.changing() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO tellings VALUES (?, ?, ?, ?, ?)", (*_key(change, name), now)
            )
    return problems


def _key(change: Change, channel: str) -> tuple[str, str, float, str]:
    return change.rule, change.state, change.since, channel


def _told(calls: Calls) -> dict[tuple[str, str, float, str], float]:
    """Return when which channel was told of which change."""
    with calls.open() as connection:
        rows = connection.execute("SELECT rule, state, since, channel, told FROM tellings").fetchall()
    return {tuple(row[:4]): row[4] for row in rows}
