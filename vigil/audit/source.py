"""The text of one public call alone: what a runner's file has of it, and nothing that other calls need.

Files of calls make them in loops and by functions that return functions. So a file is carried out with stand-ins for the
libraries that it imports, which only remember how they are named, and the function that comes of it is written down: its text,
with what it holds put in the place of names, and the helpers that it calls.
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import importlib
import types
from typing import Any

from vigil.paths import project_root

_FRAMEWORKS = ("torch", "tensorflow", "jax", "flax", "optax", "keras")
_ALONE = "alone:"  # before the name of a module that was carried out with stand-ins
_PLAIN = (str, int, float, bool, type(None))
# What a script calls its helper for a call that two processes of PyTorch take together.
BY_TWO_PROCESSES = "by_two_processes"
_TOGETHER = f"{_ALONE}runners.torch.together", "together.<locals>.call"


class CannotWrite(Exception):
    """What a call is made of has no text of its own."""


class _Stand:
    """A library, or a name of it. path: empty for what one of its functions gave."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> _Stand:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Stand(self._path and f"{self._path}.{name}")

    def __call__(self, *arguments: Any, **options: Any) -> _Stand:
        return _Stand("")

    def __getitem__(self, key: Any) -> _Stand:
        return _Stand("")

    def __or__(self, other: Any) -> _Stand:
        return _Stand("")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (object,)


class _File:
    """One file of calls, carried out with stand-ins. nodes: of each function, by the line that it is told to be on."""

    def __init__(self, module: str) -> None:
        path = project_root().joinpath(*module.split(".")).with_suffix(".py")
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self.nodes: dict[int, ast.FunctionDef | ast.Lambda] = {}
        named = compile_tree(self.tree, self.nodes)
        self.globals: dict[str, Any] = {
            "__name__": f"{_ALONE}{module}",
            "__builtins__": {**vars(builtins), "__import__": _import},
        }
        exec(named, self.globals)
        self.classes = {each.name: each for each in self.tree.body if isinstance(each, ast.ClassDef)}
        # How the file itself imports a name: alias -> (statement, path).
        self.imports: dict[str, tuple[str, str]] = {}
        for each in self.tree.body:
            if isinstance(each, ast.Import):
                for alias in each.names:
                    shown = alias.asname or alias.name.split(".")[0]
                    path_of_alias = alias.name if alias.asname else shown
                    self.imports[shown] = (ast.unparse(ast.Import([alias])), path_of_alias)
            elif isinstance(each, ast.ImportFrom) and each.module and each.module != "__future__":
                for alias in each.names:
                    statement = ast.unparse(ast.ImportFrom(each.module, [alias], 0))
                    self.imports[alias.asname or alias.name] = (statement, f"{each.module}.{alias.name}")


def compile_tree(tree: ast.Module, nodes: dict[int, Any]) -> types.CodeType:
    """Return a file's code in which each function is on a line of its own, and note which it is."""
    numbered = copy.deepcopy(tree)
    places = zip(ast.walk(tree), ast.walk(numbered), strict=True)
    functions = [(kept, each) for kept, each in places if isinstance(each, (ast.FunctionDef, ast.Lambda))]
    for number, (kept, each) in enumerate(functions, start=1_000_000):
        assert isinstance(kept, (ast.FunctionDef, ast.Lambda))
        nodes[number] = kept
        each.lineno = each.end_lineno = number
        each.col_offset = each.end_col_offset = 0
        for decorator in each.decorator_list if isinstance(each, ast.FunctionDef) else ():
            decorator.lineno = decorator.end_lineno = number
    return compile(numbered, "<calls>", "exec", dont_inherit=True)


def _import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    root = name.split(".")[0]
    if root in _FRAMEWORKS:
        return _Stand(name if fromlist else root)
    parts = name.split(".")
    if root == "runners" and len(parts) > 1 and parts[1] != "contract":
        return types.SimpleNamespace(**_file(name).globals)
    module = importlib.import_module(name)
    return module if fromlist else importlib.import_module(root)


@functools.cache
def _file(module: str) -> _File:
    return _File(module)


class _Writer:
    """Writes down a call and all that it needs, each once."""

    def __init__(self) -> None:
        self.imports: list[str] = []
        self.statements: list[str] = []
        self._names: dict[int, str] = {}
        self._taken: set[str] = set()
        self._held: list[Any] = []

    def expression(self, value: Any, file: _File) -> ast.expr:
        """Return an expression that makes a value."""
        if isinstance(value, _PLAIN):
            return ast.Constant(value)
        if isinstance(value, _Stand):
            return self._stand(value, file)
        if isinstance(value, (tuple, list)):
            parts = [self.expression(each, file) for each in value]
            return ast.Tuple(parts, ast.Load()) if isinstance(value, tuple) else ast.List(parts, ast.Load())
        if isinstance(value, dict):
            return ast.Dict([self.expression(each, file) for each in value],
                            [self.expression(each, file) for each in value.values()])  # fmt: skip
        if isinstance(value, functools.partial):
            self._note_import("import functools")
            given = [ast.keyword(name, self.expression(each, file)) for name, each in value.keywords.items()]
            first = [self.expression(each, file) for each in (value.func, *value.args)]
            return ast.Call(ast.parse("functools.partial", mode="eval").body, first, given)
        if isinstance(value, functools._lru_cache_wrapper):
            value = value.__wrapped__
        if isinstance(value, types.FunctionType):
            return self.function(value, file)
        if isinstance(value, type) and value.__name__ == "Unsupported":
            self._note_import("Unsupported = ValueError")
            return ast.Name("Unsupported", ast.Load())
        named = getattr(value, "__name__", None)
        if named and getattr(builtins, named, None) is value:
            return ast.Name(named, ast.Load())
        raise CannotWrite(f"{value!r}: has no text")

    def function(self, value: types.FunctionType, file: _File, *, name: str | None = None) -> ast.expr:
        """Write a function down, unless it is already; return its name, or itself where it is a lambda."""
        if id(value) in self._names:
            return ast.Name(self._names[id(value)], ast.Load())
        if (value.__module__, value.__qualname__) == _TOGETHER:
            work = dict(zip(value.__code__.co_freevars, value.__closure__ or (), strict=True))["work"]
            return ast.Call(ast.Name(BY_TWO_PROCESSES, ast.Load()), [self._cell(work, file)], [])
        if _is_ours(value):
            file = _file(value.__module__.removeprefix(_ALONE))
        node = file.nodes.get(value.__code__.co_firstlineno)
        if node is None or value.__globals__ is not file.globals:
            raise CannotWrite(f"{value.__qualname__}: not of a file of calls")
        self._held.append(value)  # so that no other has its id
        is_lambda = isinstance(node, ast.Lambda)
        if not is_lambda:
            name = name or self._free(value.__name__)
            self._names[id(value)] = name
            self._taken.add(name)
        own = _without_checks(_plain(copy.deepcopy(node)), file)
        self._set_defaults(own, value, file)
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        inner = {each: self._cell(cell, file) for each, cell in cells}
        own = _Decided().visit(_Substitution(inner).visit(own))
        own = _Substitution(self._of_globals(own, set(inner), file)).visit(own)
        if is_lambda:
            return own
        own.name = name
        self.statements.append(ast.unparse(ast.fix_missing_locations(_short(_WithoutPass().visit(own)))))
        return ast.Name(str(name), ast.Load())

    def _cell(self, cell: Any, file: _File) -> ast.expr:
        return self.expression(cell.cell_contents, file)

    def _of_globals(self, node: ast.AST, but: set[str], file: _File) -> dict[str, ast.expr]:
        """Write down what a function takes from its file; return what is put in the place of names."""
        found: dict[str, ast.expr] = {}
        bound = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
        bound |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        for name in sorted({each.id for each in ast.walk(node) if isinstance(each, ast.Name)} - but - bound):
            if name not in file.globals:
                continue
            value = file.globals[name]
            if name in file.imports and not isinstance(value, (types.FunctionType, type)):
                self._note_import(file.imports[name][0])
            elif isinstance(value, type) and name in file.classes:
                self._class(name, file)
            elif name in file.imports and _is_of_a_library(value):
                self._note_import(file.imports[name][0])
            else:
                found[name] = self.expression(value, file)
        return {name: each for name, each in found.items() if not (isinstance(each, ast.Name) and each.id == name)}

    def _class(self, name: str, file: _File) -> None:
        if name in self._taken:
            return
        self._taken.add(name)
        node = _plain(copy.deepcopy(file.classes[name]))
        node = _Substitution(self._of_globals(node, {name}, file)).visit(node)
        self.statements.append(ast.unparse(ast.fix_missing_locations(node)))

    def _set_defaults(self, node: Any, value: types.FunctionType, file: _File) -> None:
        for place, default in enumerate(value.__defaults__ or ()):
            node.args.defaults[place] = self.expression(default, file)
        names = [each.arg for each in node.args.kwonlyargs]
        for name, default in (value.__kwdefaults__ or {}).items():
            node.args.kw_defaults[names.index(name)] = self.expression(default, file)

    def _stand(self, value: _Stand, file: _File) -> ast.expr:
        if not value._path:
            raise CannotWrite("a value that only the library can give")
        best = max(
            (alias for alias, (_, path) in file.imports.items() if f"{value._path}.".startswith(f"{path}.")),
            key=lambda alias: len(file.imports[alias][1]), default=None,
        )  # fmt: skip
        if best is None:
            root = value._path.split(".")[0]
            self._note_import(f"import {root}")
            return ast.parse(value._path, mode="eval").body
        statement, path = file.imports[best]
        self._note_import(statement)
        return ast.parse(best + value._path[len(path) :], mode="eval").body

    def _note_import(self, statement: str) -> None:
        if statement not in self.imports:
            self.imports.append(statement)

    def _free(self, name: str) -> str:
        if name not in self._taken and name != "call":
            return name
        return next(f"{name}_{number}" for number in range(2, 99) if f"{name}_{number}" not in self._taken)


class _Substitution(ast.NodeTransformer):
    def __init__(self, values: dict[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._values and isinstance(node.ctx, ast.Load):
            return copy.deepcopy(self._values[node.id])
        return node


class _Decided(ast.NodeTransformer):
    """Leaves out what a constant, or a comparison of two texts, decides."""

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        decided = _decided(node)
        return node if decided is None else ast.Constant(decided)

    def visit_Call(self, node: ast.Call) -> Any:
        """Write an attribute whose name is known as one."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) == 2:
            name = node.args[1]
            if isinstance(name, ast.Constant) and str(name.value).isidentifier():
                return ast.Attribute(node.args[0], str(name.value), ast.Load())
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        self.generic_visit(node)
        decided = _decided(node.test)
        return node if decided is None else node.body if decided else node.orelse

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        decided = _decided(node.test)
        return node if decided is None else (node.body if decided else node.orelse) or ast.Pass()


def _decided(test: ast.expr) -> bool | None:
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
        left, right = test.left, test.comparators[0]
        if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
            return bool(left.value == right.value) == isinstance(test.ops[0], ast.Eq)
    return None


def _without_checks(node: Any, file: _File) -> Any:
    """Leave out calls of functions that only check what is asked: of those nothing is left."""
    idle = {
        name for name, value in file.globals.items()
        if isinstance(value, types.FunctionType) and value.__globals__ is file.globals
        and isinstance(found := file.nodes.get(value.__code__.co_firstlineno), ast.FunctionDef)
        and all(isinstance(each, ast.Pass) for each in _plain(copy.deepcopy(found)).body)
    }  # fmt: skip
    return _WithoutCalls(idle).visit(node) if idle else node


class _WithoutCalls(ast.NodeTransformer):
    def __init__(self, names: set[str]) -> None:
        self._names = names

    def visit_Expr(self, node: ast.Expr) -> Any:
        call = node.value
        is_idle = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in self._names
        return ast.Pass() if is_idle else node


class _Plain(ast.NodeTransformer):
    """Leaves out annotations and docstrings: what is left needs no imports of types."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.returns = None
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        return node if node.body else None

    def visit_If(self, node: ast.If) -> Any:
        is_check = len(node.body) == 1 and isinstance(node.body[0], ast.Raise) and not node.orelse
        if is_check and "Unsupported" in ast.unparse(node.body[0]):
            return None  # what was asked has been answered
        self.generic_visit(node)
        return node if node.body else None

    def visit_arg(self, node: ast.arg) -> Any:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.Pass()
        return self.generic_visit(ast.copy_location(ast.Assign([node.target], node.value), node))


class _WithoutPass(ast.NodeTransformer):
    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        body = getattr(node, "body", None)
        if isinstance(body, list) and len(body) > 1:
            node.body = [each for each in body if not isinstance(each, ast.Pass)] or [ast.Pass()]  # type: ignore[attr-defined]
        return node


def _short(node: ast.FunctionDef) -> ast.stmt:
    """Return a function of one expression as a lambda, which takes one line."""
    last = node.body[0]
    if len(node.body) > 1 or not isinstance(last, ast.Return) or last.value is None or node.decorator_list:
        return node
    return ast.Assign([ast.Name(node.name, ast.Store())], ast.Lambda(node.args, last.value))


def _plain(node: Any) -> Any:
    return ast.fix_missing_locations(_Plain().visit(node))


def _is_of_a_library(value: Any) -> bool:
    if isinstance(value, type):
        return value.__name__ != "Unsupported"
    return isinstance(value, types.FunctionType) and not _is_ours(value)


def _is_ours(value: types.FunctionType) -> bool:
    return value.__module__.startswith(_ALONE)


def module_of(framework: str, family: str, way: str) -> str:
    """Return the runner's module that has the calls of a family by a public name."""
    return f"runners.keras.{family}" if way.startswith("keras.") else f"runners.{framework}.calls.{family}"


def call_alone(framework: str, family: str, operator: str, way: str) -> tuple[list[str], list[str]] | None:
    """Return the imports and the lines that define `call`, as a runner has it; None where it is the public name itself.

    Raises:
        CannotWrite: What it is made of cannot be written down alone.
    """
    file = _file(module_of(framework, family, way))
    value = file.globals["CALLS"].get(operator, {}).get(way, CannotWrite)
    if value is CannotWrite:
        raise CannotWrite(f"{way}: no call of {operator}")
    if value is None:
        return None
    writer = _Writer()
    if isinstance(value, types.FunctionType) and not isinstance(file.nodes.get(value.__code__.co_firstlineno), ast.Lambda):
        writer.function(value, file, name="call")
        last: list[str] = []
    else:
        last = [f"call = {ast.unparse(ast.fix_missing_locations(writer.expression(value, file)))}"]
    lines = [line for each in (*writer.statements, *last) for line in each.splitlines()]
    return writer.imports, lines
