"""Which account samples and documents belong to: by `account_id`, or by a usual name in tags and metadata."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from ragtriage.data.store.sample_reader import further_fields

NATIVE = "account_id"
# what an account may be called, by kind: only one of the same kind is compared with it
_KIND_OF = {
    "account": NATIVE,
    "accountid": NATIVE,
    **dict.fromkeys(("tenant", "tenantid", "tenantname"), "tenant"),
    **dict.fromkeys(("customer", "customerid", "customername"), "customer"),
    **dict.fromkeys(("org", "orgid", "organization", "organizationid", "organisation"), "organisation"),
    **dict.fromkeys(("workspace", "workspaceid"), "workspace"),
}
NAMED = '(?i)(?:account|tenant|customer|org|organi[sz]ation|workspace)[_-]?(?:id|name)?\\\\?"\\s*:'  # in JSON
_SHARED = {"shared", "public", "global", "common", "all", "any", "everyone", "*", "none", "null", ""}
_NO_LETTER = re.compile("[^a-z]")
Accounts = Mapping[str, tuple[str, ...]]  # NATIVE or a kind -> one account, or those that may read a document


def accounts_of_document(document: Mapping[str, Any]) -> Accounts:
    """Return the accounts that a stored document names; a document that is shared names none."""
    extra = document.get("extra")
    return _accounts(further_fields(extra) if extra and re.search(NAMED, extra) else {})


def accounts_of_sample(sample: Any) -> Accounts:
    """Return the accounts that a stored sample asks for: its own field, then its tags and further fields."""
    tags = {tag["key"].rpartition(".")[2]: tag["value"] for tag in sample["tags"] or ()}
    extra = sample["extra"]
    further = further_fields(extra) if extra and re.search(NAMED, extra) else {}
    return _accounts({**further, **tags, NATIVE: sample[NATIVE]})


def common_kind(asking: Accounts, owners: Iterable[Accounts]) -> str | None:
    """Return by which kind of account a sample and any of its documents can be compared; None for none."""
    owned = {kind for accounts in owners for kind in accounts}
    return next((kind for kind in dict.fromkeys(_KIND_OF.values()) if kind in asking and kind in owned), None)


def _accounts(fields: Mapping[str, Any]) -> Accounts:
    accounts: dict[str, tuple[str, ...]] = {}
    for name, value in _named(fields):
        kind = _KIND_OF.get(_NO_LETTER.sub("", name.lower()))
        values = value if isinstance(value, list) and name != NATIVE else [value]
        texts = [_text(each) for each in values]
        named = tuple(text for text in texts if text and text.casefold() not in _SHARED)
        if kind and named and len(named) == len(texts):
            accounts.setdefault(kind, named)
    return accounts


def _named(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of an object, its own account first, and then those of its metadata."""
    yield NATIVE, fields.get(NATIVE)
    yield from ((name, value) for name, value in fields.items() if name != NATIVE)
    metadata = fields.get("metadata")
    if isinstance(metadata, str):
        try:
            metadata = orjson.loads(metadata)
        except orjson.JSONDecodeError:
            return
    if isinstance(metadata, Mapping):
        yield from ((str(name), value) for name, value in metadata.items())


def _text(value: object) -> str | None:
    """Return an account as text; None for what is none."""
    if value is None or value != value or isinstance(value, Mapping | bool):  # NaN, as tables have it
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # as tables have a whole number beside an empty cell
    return str(value).encode("utf-8", "replace").decode().strip() or None
