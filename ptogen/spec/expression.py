"""The small expressions of ``where`` and ``--select``: a condition over the fields of a combination.

Python's own parser reads them, and only the nodes named here mean anything; nothing is ever evaluated by Python itself.
Numbers are bounded, so that a hostile expression costs no more than its length.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ptogen.spec.faults import listing, quote, suggest

MAX_LENGTH = 2_000
MAX_DEPTH = 50
MAX_NUMBER = 2**63

Values = Mapping[str, Any]
Evaluate = Callable[[Values], Any]

_COMPARE: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, Callable[[int, int], int]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
}
_ALLOWED = "comparisons, and, or, not, in, + - * // %, numbers, words, lists and the fields"


_ASSIGNMENT = re.compile("(?<![=!<>])=(?!=)")


class ExpressionError(Exception):
    """What is wrong with an expression.

    Attributes:
        message: the fact.
        column: where in the text, counted from 0.
        hint: a way out.
    """

    def __init__(self, message: str, column: int = 0, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.column = column
        self.hint = hint


@dataclass(frozen=True)
class Expression:
    """A condition that has been read.

    Attributes:
        text: as it was given.
        evaluate: its value for a combination.
        parts: the conditions that all have to hold, each with the fields that it names.
        fields, words: what it was read with; a copy in another process is read anew.
    """

    text: str
    evaluate: Evaluate
    parts: tuple[tuple[frozenset[str], Evaluate], ...]
    fields: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return parse, (self.text, self.fields, self.words)

    def holds(self, values: Values) -> bool:
        """Whether the condition holds; a field that a combination has not got is None, and no order holds for it.

        Raises:
            ExpressionError: for these values the expression means nothing, such as a division by zero.
        """
        return bool(self.evaluate(values))

    def may_hold(self, values: Values, open_: Collection[str]) -> bool:
        """Whether the condition can hold for some values of the fields that are still open."""
        try:
            return all(evaluate(values) for fields, evaluate in self.parts if fields.isdisjoint(open_))
        except ExpressionError:
            return True  # for the whole combination to say


def parse(text: str, fields: Collection[str], words: Collection[str]) -> Expression:
    """Reads a condition.

    Args:
        text: the expression.
        fields: names that stand for a field of a combination.
        words: names that stand for themselves, such as dtypes; others need quotes.

    Raises:
        ExpressionError: it is not an expression, or it holds what is not allowed.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"the expression is {len(text):,} characters long, more than {MAX_LENGTH:,}", MAX_LENGTH)
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        column = max((error.offset or 1) - 1, 0) if (error.lineno or 1) == 1 else 0
        compared = _ASSIGNMENT.sub("==", text)
        hint = f"two values are compared with ==: {compared}" if compared != text else f"allowed are {_ALLOWED}"
        raise ExpressionError("this is not an expression", column, hint) from None
    except (ValueError, RecursionError, MemoryError):
        raise ExpressionError("this is not an expression that can be read", 0, f"allowed are {_ALLOWED}") from None
    reader = _Reader(fields, words)
    evaluate = reader.read(tree.body, 0)
    body = tree.body
    parts = [
        (frozenset(node.id for node in ast.walk(part) if isinstance(node, ast.Name)), reader.read(part, 0))
        for part in (body.values if isinstance(body, ast.BoolOp) and isinstance(body.op, ast.And) else [body])
    ]
    return Expression(text, evaluate, tuple(parts), tuple(fields), tuple(words))


class _Reader:
    """Turns the parser's tree into functions of the values."""

    def __init__(self, fields: Collection[str], words: Collection[str]) -> None:
        self.fields = fields
        self.words = words

    def read(self, node: ast.expr, depth: int) -> Evaluate:
        if depth > MAX_DEPTH:
            raise ExpressionError(f"the expression is nested more than {MAX_DEPTH} deep", node.col_offset)
        reader = getattr(self, f"_{type(node).__name__.lower()}", None)
        if reader is None:
            raise ExpressionError(
                f"{quote(ast.unparse(node))} is not allowed here", node.col_offset, f"allowed are {_ALLOWED}"
            )
        return reader(node, depth + 1)

    def _constant(self, node: ast.Constant, depth: int) -> Evaluate:
        value = node.value
        if isinstance(value, bool) or (isinstance(value, int) and value < MAX_NUMBER) or isinstance(value, str):
            return lambda _: value
        hint = "write whole numbers below 2 ** 63, true or false as True or False, and words"
        raise ExpressionError(f"{quote(ast.unparse(node))} is no value of a field", node.col_offset, hint)

    def _name(self, node: ast.Name, depth: int) -> Evaluate:
        name = node.id
        if name in self.fields:
            return lambda values: values.get(name)
        if name in ("true", "false"):
            return lambda _: name == "true"
        if name in self.words:
            return lambda _: name
        near = suggest(name, (*self.fields, *self.words), 0.6)
        hint = f"did you mean `{near}`?" if near else f"the fields are {listing(self.fields)}; other words need quotes"
        raise ExpressionError(f"{quote(name)} is not a field", node.col_offset, hint)

    def _list(self, node: ast.List | ast.Tuple, depth: int) -> Evaluate:
        items = [self.read(item, depth) for item in node.elts]
        return lambda values: tuple(item(values) for item in items)

    _tuple = _list

    def _boolop(self, node: ast.BoolOp, depth: int) -> Evaluate:
        parts = [self.read(part, depth) for part in node.values]
        fold = all if isinstance(node.op, ast.And) else any
        return lambda values: fold(part(values) for part in parts)

    def _unaryop(self, node: ast.UnaryOp, depth: int) -> Evaluate:
        inner, column = self.read(node.operand, depth), node.col_offset
        if isinstance(node.op, ast.Not):
            return lambda values: not inner(values)
        if isinstance(node.op, ast.USub):
            return lambda values: _number("-", operator.sub, 0, inner(values), column)
        raise ExpressionError(f"{quote(ast.unparse(node))} is not allowed here", column, f"allowed are {_ALLOWED}")

    def _binop(self, node: ast.BinOp, depth: int) -> Evaluate:
        if type(node.op) not in _ARITHMETIC:
            hint = "of arithmetic there is + - * // %"
            raise ExpressionError(f"{quote(ast.unparse(node))} is not allowed here", node.col_offset, hint)
        sign, apply = _ARITHMETIC[type(node.op)]
        left, right, column = self.read(node.left, depth), self.read(node.right, depth), node.col_offset
        return lambda values: _number(sign, apply, left(values), right(values), column)

    def _compare(self, node: ast.Compare, depth: int) -> Evaluate:
        operands = [self.read(operand, depth) for operand in (node.left, *node.comparators)]
        tests = [self._test(operator_, node) for operator_ in node.ops]

        def evaluate(values: Values) -> bool:
            left = operands[0](values)
            for test, operand in zip(tests, operands[1:], strict=True):
                right = operand(values)
                if not test(left, right):
                    return False
                left = right
            return True

        return evaluate

    def _test(self, op: ast.cmpop, node: ast.Compare) -> Callable[[Any, Any], bool]:
        column = node.col_offset
        if isinstance(op, (ast.In, ast.NotIn)):
            wanted = isinstance(op, ast.In)

            def contains(left: Any, right: Any) -> bool:
                if not isinstance(right, tuple):
                    raise ExpressionError(f"`in` wants a list on its right, not {_shown(right)}", column)
                return (left in right) is wanted

            return contains
        if type(op) not in _COMPARE:
            raise ExpressionError(f"{quote(ast.unparse(node))} is not allowed here", column, "compare with == or !=")
        sign, apply = _COMPARE[type(op)]

        def compare(left: Any, right: Any) -> bool:
            if sign in ("==", "!="):
                return apply(left, right)
            if left is None or right is None:
                return False
            try:
                return apply(left, right)
            except TypeError:
                message = f"{_shown(left)} {sign} {_shown(right)} compares a number with something else"
                raise ExpressionError(message, column) from None

        return compare


def _shown(value: Any) -> str:
    return "nothing" if value is None else quote(str(value))


def _number(sign: str, apply: Callable[[int, int], int], left: Any, right: Any, column: int) -> int | None:
    """Arithmetic on whole numbers; on a field that is not there it gives nothing."""
    if left is None or right is None:
        return None
    for value in (left, right):
        if type(value) is not int:
            raise ExpressionError(f"`{sign}` wants whole numbers, not {_shown(value)}", column)
    if right == 0 and sign in ("//", "%"):
        raise ExpressionError(f"{left} {sign} 0 divides by zero", column)
    result = apply(left, right)
    if abs(result) >= MAX_NUMBER:
        raise ExpressionError(f"{left} {sign} {right} is too large a number", column)
    return result
