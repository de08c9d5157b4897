"""Coroutines take their parameters by value: what a reference names may be gone at the first suspension.

clang-tidy 16 has a check for it that also flags every lambda and local struct inside a coroutine, so
this reads the declarations: a function or lambda that returns a Task, and has a reference among its
parameters. A pointer is allowed: it is seen at the call, and its owner must outlive the task.
"""

import re

from .paths import REPO

TASK = r"(?:net::)?Task<"
FUNCTION = re.compile(
    r"^[ \t]*(?:template <[^\n]*>\s*)?(?:\[\[[^\n]*?\]\]\s*)?"
    rf"(?:static |virtual |inline |friend )*{TASK}",
    re.M,
)
PARAMETERS = r"\([^()]*(?:\([^()]*\)[^()]*)*\)"
TRAILING = re.compile(
    rf"(?:\]|\bauto\s+[\w:~]+)\s*(?={PARAMETERS}\s*(?:mutable\s*|const\s*|noexcept\s*)*->\s*{TASK})"
)
COMMENT = re.compile(r"//[^\n]*")


def check_coroutines(files) -> list[str]:
    found = []
    for file in files:
        if file.suffix not in {".cc", ".h"}:
            continue
        # Comments are blanked, not removed, so that line numbers stay true.
        text = COMMENT.sub(lambda m: " " * len(m[0]), file.read_text())
        for start in [*_after_functions(text), *(m.end() for m in TRAILING.finditer(text))]:
            parameters = _balanced(text, start, "(", ")")
            if parameters and "&" in _without_templates(parameters):
                line = text[:start].count("\n") + 1
                name = file.relative_to(REPO)
                found.append(f"{name}:{line}: a coroutine's parameter is a reference: {parameters}")
    return found


def _after_functions(text: str):
    """Where the parameter list of each function that returns a Task begins."""
    for match in FUNCTION.finditer(text):
        result = _balanced(text, match.end() - 1, "<", ">")
        name = re.compile(r"\s+[\w:~]+(?=\()").match(text, match.end() - 1 + len(result or ""))
        if result and name:
            yield name.end()


def _balanced(text: str, start: int, opening: str, closing: str) -> str | None:
    """From the bracket at `start` to the one that closes it."""
    depth = 0
    for end in range(start, len(text)):
        depth += (text[end] == opening) - (text[end] == closing)
        if depth == 0:
            return text[start : end + 1]
    return None


def _without_templates(text: str) -> str:
    """A reference inside std::function<void(X&)> is not the parameter's own."""
    while (shorter := re.sub(r"<[^<>]*>", "", text)) != text:
        text = shorter
    return text
