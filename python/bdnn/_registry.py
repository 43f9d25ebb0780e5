"""The library's registry of methods in Python: classes, parameters, defaults. Needs no scikit-learn."""
from __future__ import annotations

import keyword
from typing import Any

MAX_BITS = 4096


def value_of(text: str) -> Any:
    """The value of an option's text: a bool, a number, or the text itself."""
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text


def class_name(method: str) -> str:
    """The class of a method: sh-bdnn is SHBDNN, lda-hash LDAHash, fasthash FastHash, semantic Semantic."""
    def part_name(part: str) -> str:
        if part.endswith("hash"):
            stem = part[:-len("hash")]
            return stem.capitalize() + "Hash"
        return part.upper() if len(part) <= 5 else part.capitalize()
    return "".join(part_name(part) for part in method.split("-"))


_COMMON_FIRST = [("n_bits", 32, "int", f"Code length, 1 to {MAX_BITS}.")]
_COMMON_LAST = [
    ("output", "packed", "str", "What transform() returns: 'packed' bytes, 'bits' or 'signs'."),
    ("decoder", True, "bool", "Give the model a decoder, which inverse_transform() needs."),
    ("random_state", 1, "int, RandomState, Generator or None", "Equal seeds give equal models; None draws one."),
    ("n_jobs", -1, "int or None", "Threads: -1 for one per core, None for one. Results do not depend on it."),
    ("verbose", 0, "int", "1 shows a progress bar, 2 also the rounds of the training."),
]


def parameters_of(info: dict[str, Any]) -> list[tuple[str, str, Any, str, str]]:
    """(parameter, name in the library, default, type, description) of the method's options."""
    parameters = []
    for option in info["options"]:
        name = option["name"]
        parameter = name + "_" if keyword.iskeyword(name) else name
        default = value_of(option["default"])
        kind = {bool: "bool", int: "number", float: "float", str: "str"}[type(default)]
        allowed = "" if isinstance(default, bool) else f" ({option['allowed']})"
        summary = option["summary"]
        parameters.append((parameter, name, default, kind, f"{summary[0].upper()}{summary[1:]}{allowed}."))
    return parameters


def signature_of(info: dict[str, Any]) -> list[tuple[str, Any, str, str]]:
    """(parameter, default, type, description) in the order of the signature; `n_bits` may be positional."""
    options = [(parameter, default, kind, text) for parameter, _, default, kind, text in parameters_of(info)]
    return [*_COMMON_FIRST, *options, *_COMMON_LAST]
