"""Fields that may change when a run is continued, as `rl_models/configuration.py` declares them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeAlias

from rl_models.configuration import CONTINUED
from tune_experiments.core.config_json import ABSENT, DataclassInstance, differences, is_configuration
from tune_experiments.core.config_path import flag_words, value_at

Rules: TypeAlias = Mapping[str, str]
"""Dotted path of a field -> allowed change when a run is continued: changes, grows or gains; others must stay."""


@dataclasses.dataclass(frozen=True)
class Difference:
    """A value that changed between two sessions of a run, and the rule of its field."""

    path: str
    old: Any
    new: Any
    rule: str = "stays"

    @property
    def is_allowed(self) -> bool:
        """Whether the run may be continued with the new value."""
        if ABSENT in (self.old, self.new):
            return self.rule == "changes"
        if self.rule == "grows":
            return bool(self.new >= self.old)
        return self.rule == "changes" or (self.rule == "gains" and set(self.new) >= set(self.old))

    @property
    def words(self) -> str:
        """Flag with the old and the new value, and the broken rule."""
        limit = {"grows": ", which may only grow", "gains": ", which may only gain entries"}.get(self.rule, "")
        flag, *values = flag_words(self.path, self.new)
        new = " ".join(values) if values or not isinstance(self.new, bool) else flag
        return f"{self.old_flag} -> {new}{'' if self.is_allowed else limit}"

    @property
    def old_flag(self) -> str:
        """Command-line arguments that set the old value."""
        return " ".join(flag_words(self.path, self.old))


def continuation_rules(config: DataclassInstance, path: str = "", inherited: str | None = None) -> dict[str, str]:
    """Rules of a configuration's fields; a class may state them again, and a group of fields states them for all."""
    found: dict[str, str] = {}
    for field in dataclasses.fields(config):
        value, place = getattr(config, field.name), f"{path}{field.name}"
        declared = (base.__dict__.get("__dataclass_fields__", {}).get(field.name) for base in type(config).__mro__)
        stated = (one.metadata[CONTINUED] for one in declared if one is not None and CONTINUED in one.metadata)
        rule = next(stated, inherited)
        if is_configuration(value):
            found |= continuation_rules(value, f"{place}.", rule)
        elif rule is not None:
            found[place] = rule
    return found


def find_differences(old: Any, new: Any, rules: Rules) -> list[Difference]:
    """All leaves in which two configurations differ, as JSON values."""
    return [Difference(path, was, now, rules.get(path, "stays")) for path, was, now in differences(old, new)]


def grown_values(config: DataclassInstance) -> dict[str, Any]:
    """Values of all fields that may grow, by dotted path; results with other values are not mixed."""
    return {path: value_at(config, path) for path, rule in continuation_rules(config).items() if rule == "grows"}
