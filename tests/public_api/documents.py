"""Run the Python blocks of a document: open-ended loops end after one iteration, ``sleep_forever`` returns at once."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from types import CodeType

_ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def python_blocks(document: str) -> list[str]:
    """Return the fenced Python blocks of a document."""
    return _BLOCK.findall((_ROOT / document).read_text(encoding="utf-8"))


def fenced_blocks(document: str, language: str, text: str) -> list[str]:
    """Return the fenced blocks of a language that contain a text."""
    blocks = re.findall(
        rf"^```{language}\n(.*?)^```", (_ROOT / document).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    return [block for block in blocks if text in block]


async def run(block: str, names: dict[str, object]) -> dict[str, object]:
    """Run a block with these names defined and top-level ``await`` allowed; return its namespace."""
    tree = ast.fix_missing_locations(_Ending().visit(ast.parse(block)))
    code: CodeType = compile(tree, "<document>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    scope = dict(names)
    result = eval(code, scope)
    if inspect.isawaitable(result):
        await result
    return scope


class _Ending(ast.NodeTransformer):
    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.AST:
        self.generic_visit(node)
        node.body.append(ast.Break())
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(value=ast.Name(id="trio"), attr="sleep_forever"):
                return ast.parse("trio.lowlevel.checkpoint()", mode="eval").body
            case ast.Attribute(value=ast.Name(id="trio"), attr="run"):
                return ast.Await(ast.Call(node.args[0], [], []))
            case ast.Attribute(value=ast.Name(id="asyncio"), attr="run"):
                return ast.Await(node.args[0])
        return node
