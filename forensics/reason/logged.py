"""Read the arguments that a server logs as it starts. Runs nothing of what it reads."""

from __future__ import annotations

import ast
import re


def arguments(text: str, style: str | None) -> dict[str, str]:
    """Arguments as a server logs them (``ServerArgs(model_path='x', tp_size=1)``, a dict or a map) by name, values as text; what cannot be read is left out."""
    body = text.strip()
    if style == "dict":
        if not body.startswith("{"):  # the braces may stand outside of what a profile captures
            body = f"{{{body}}}"
        body = body[: body.rfind("}") + 1]
        try:
            tree = ast.parse(body, mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return _pairs(body, r"'([A-Za-z_]\w*)': ")
        if isinstance(tree, ast.Dict):
            return {str(k.value): _value(v) for k, v in zip(tree.keys, tree.values, strict=True) if isinstance(k, ast.Constant)}
        return {}
    if style == "map":  # a mapping as Go prints it: name:value, a value with blanks in brackets
        return {m[1]: m[2].strip("[]") for m in re.finditer(r"(?:^|(?<= ))([A-Za-z_]\w*):(\[[^\[\]]{0,1000}\]|[^\s\[\]]*)", body)}
    return _pairs(body, r"\b([a-z_]\w*)=")


def _pairs(body: str, name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for m in re.finditer(name + r"('[^']*'|\"[^\"]*\"|\[[^\[\]]{0,1000}\]|[^,(){}\s]+)", body):
        found.setdefault(m.group(1), m.group(2).strip("'\""))
    return found


def _value(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)
