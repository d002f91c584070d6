"""Rules in prompts: the benchmark's model obeys sentences that are rules and ignores all others."""

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

Rules = Mapping[str, str]

# Sentence, in lower case and with single spaces -> the rule's name; its group, if any, is the value.
_SENTENCES: Final = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"you are the (.+)\.", "role"),
        (r"amounts are in (euros|cents)\.", "unit"),
        (r"use only the first (\d+) documents?\.", "top"),
        (r"where sources disagree, take the (first|newest|strictest)(?: one)?\.", "tie"),
        (r"always cite (the source)\.", "cite"),
        (r"sign as (.+)\.", "sign"),
        (r"answer in (english|german)\.", "language"),
        (r"begin with a (greeting)\.", "greet"),
        (r"answer in at most (\d+) words\.", "words"),
        (r"never refund more than (\d+) euros\.", "limit"),
        (r"(refund|replace) what was lost\.", "lost"),
        (r"keep a fee of (\d+) euros\.", "fee"),
        (r"(look up the policy) before you refund\.", "verify"),
        (r"hand (every refund) over to a person\.", "hand over"),
        (r"report the (total|average|maximum|minimum)\.", "report"),
        (r"leave out (weekends)\.", "skip"),
        (r"take the regions in (reverse) order\.", "order"),
        (r"distrust figures above (\d+)\.", "distrust"),
        (r"name only teams with more than (\d+)\.", "above"),
        (r"try the column (\w+) first\.", "column"),
        (r"of several hints take the (first|last)(?: one)?\.", "hint"),
        (r"give up after (\d+) attempts?\.", "attempts"),
        (r"add (\d+) percent for members\.", "members"),
        (r"reject discounts above (\d+) percent\.", "reject"),
        (r"cut a rejected discount to (\d+) percent\.", "cut"),
        (r"round (prices)\.", "round"),
    )
)
# Defaults of a model for rules that its prompt does not set. `m3` is an alias of `m1`.
_HABITS: Final[Mapping[str, Rules]] = {
    "m1": {"unit": "euros", "tie": "first", "report": "total", "hint": "first", "lost": "refund", "attempts": "3"},
    "m2": {"unit": "euros", "tie": "newest", "report": "average", "hint": "last", "lost": "replace", "attempts": "3"},
}


@lru_cache(maxsize=20_000)
def rules(text: str, model: str = "") -> Rules:
    """Return a prompt's rules merged over the model's defaults. Of two contradicting rules, the later wins."""
    rules_by_name = dict(_HABITS.get(model, _HABITS["m1"])) if model else {}
    for sentence in re.findall(r"[^.]+\.", text):
        rules_by_name.update(rule(sentence))
    return MappingProxyType(rules_by_name)


@lru_cache(maxsize=20_000)
def rule(sentence: str) -> Mapping[str, str]:
    """Return the rule stated by a sentence, if any. Case and spacing are ignored."""
    plain = " ".join(sentence.lower().split())
    for pattern, name in _SENTENCES:
        if match := pattern.fullmatch(plain):
            return {name: match.group(1)}
    return {}
