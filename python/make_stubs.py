"""Writes bdnn/__init__.pyi (PEP 561) for the classes that are made from the registry when bdnn is imported.

    python3 python/make_stubs.py PACKAGE_FOLDER
"""
import pathlib
import re
import sys
import types

HEADING = '''# Made by python/make_stubs.py from the library's registry of methods.
from typing import Any, Optional, Union

import numpy as np

'''
TYPES = {"int": "int", "bool": "bool", "str": "str", "float": "float", "number": "float",
         "int or None": "Optional[int]",
         "int, RandomState, Generator or None": "Union[int, np.random.RandomState, np.random.Generator, None]"}


def annotation(kind, default, allowed_text):
    if kind == "str" and "auto" in allowed_text and re.search(r"\d to \d", allowed_text):
        return "Union[float, str]"
    if kind == "str" and "a list" in allowed_text:
        return "Union[str, tuple[int, ...]]"
    if kind == "number" and "auto or" in allowed_text:
        return "Union[int, str]"
    return TYPES[kind]


def stub_of(name, info, registry):
    lines = [f"class {name}(Hasher):"]
    parameters = registry.signature_of(info)
    for parameter, default, kind, text in parameters:
        lines.append(f"    {parameter}: {annotation(kind, default, text)}")
    lines.append("    def __init__(self, " + ", ".join(
        ("*, " if place == 1 else "") + f"{parameter}: {annotation(kind, default, text)} = {default!r}"
        for place, (parameter, default, kind, text) in enumerate(parameters)) + ") -> None: ...")
    return "\n".join(lines)


def main(folder):
    # As a package without its __init__.py, which needs scikit-learn: the build does not.
    package = types.ModuleType("bdnn")
    package.__path__ = [str(folder)]
    sys.modules["bdnn"] = package
    from bdnn import _core, _registry

    source = (folder / "__init__.py").read_text()
    # What the package itself imports, re-exported; names without "as" are private in a stub.
    imports = []
    for module, names in re.findall(r"^from (\.\w*) import (\([^)]*\)|.*)$", source, re.M):
        listed = [name.strip() for name in names.strip("()").split(",")]
        kept = [f"{name} as {name}" for name in listed if name and not name.startswith("_") and " as " not in name]
        if module == "._core":
            continue
        imports.append(f"from {module} import " + ", ".join(kept))
    text = HEADING + "\n".join(imports) + "\n\n__version__: str\n__all__: list[str]\ndef backend() -> dict[str, str]: ...\n\n"
    text += "\n\n".join(stub_of(_registry.class_name(info["name"]), info, _registry) for info in _core.methods()) + "\n"
    (folder / "__init__.pyi").write_text(text)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
