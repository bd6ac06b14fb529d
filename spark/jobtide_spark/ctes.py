"""
The common table expressions of a model. Spark puts the text of one in the place of every name that refers to it: a model whose
expressions build on each other becomes a plan of thousands of nodes, and planning it takes longer than running it.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"--[^\n]*|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[A-Za-z_][A-Za-z0-9_]*|\s+|.", re.DOTALL)
# Whether a CTE combines several rows into one.
_WORK = {"join", "group", "over", "distinct", "union", "window"}


def split(sql: str) -> tuple[list[tuple[str, str]], str]:
    """The expressions of a `with`, in order, and the select after them; none where the text does not begin with one."""
    tokens = [token for token in _TOKEN.findall(sql) if not token.startswith("--")]
    at = _next(tokens, 0)
    if at == len(tokens) or tokens[at].lower() != "with":
        return [], sql
    found = []
    while True:
        at = _next(tokens, at + 1)
        name = tokens[at]
        at = _next(tokens, at + 1)
        begin = _next(tokens, at + 1)
        if tokens[at].lower() != "as" or tokens[begin] != "(":
            raise ValueError(f"`{name}` is not followed by `as (`")
        end = _closing(tokens, begin)
        found.append((name, "".join(tokens[begin + 1 : end])))
        at = _next(tokens, end + 1)
        if at == len(tokens) or tokens[at] != ",":
            return found, "".join(tokens[at:])


def shared(ctes: list[tuple[str, str]], last: str) -> set[str]:
    """Those that join, group or sort, and that are used in more than one place."""
    words = [_words(text) for _, text in ctes]
    places = [_places(_words(last), name) for name, _ in ctes]
    found = set()
    # Starts with the last one: a text names only earlier expressions.
    for at in range(len(ctes) - 1, -1, -1):
        if places[at] > 1 and _WORK.intersection(words[at]):
            found.add(ctes[at][0])
            places[at] = 1
        for other in range(at):
            places[other] += places[at] * _places(words[at], ctes[other][0])
    return found


def with_those(ctes: list[tuple[str, str]], last: str) -> str:
    """A select after the expressions that it needs."""
    needed: list[tuple[str, str]] = []
    texts = [last]
    for name, body in reversed(ctes):
        if any(re.search(rf"\b{name}\b", text) for text in texts):
            needed.insert(0, (name, body))
            texts.append(body)
    if not needed:
        return last
    return "with " + ",\n".join(f"{name} as ({body})" for name, body in needed) + "\n" + last


def _words(text: str) -> list[str]:
    return [token.lower() for token in _TOKEN.findall(text) if not token.isspace()]


def _places(words: list[str], name: str) -> int:
    """How often a name follows `from` or `join`."""
    return sum(word == name and before in ("from", "join") for before, word in zip(words, words[1:]))


def _next(tokens: list[str], at: int) -> int:
    while at < len(tokens) and tokens[at].isspace():
        at += 1
    return at


def _closing(tokens: list[str], begin: int) -> int:
    depth = 0
    for at in range(begin, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[at], 0)
        if depth == 0:
            return at
    raise ValueError("a bracket is not closed")
