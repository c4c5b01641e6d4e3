"""Calls of the functions of a single kernel file: what its main.cpp would do, for a file that has none.

The text that makes them stands behind the kernel in the same copy, so that the C++ compiler finds the function: by
its name, its template arguments and its overloads (``overlay/recorder/ptogen/driver.hpp``)."""

from __future__ import annotations

import fnmatch
import itertools
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from ptogen.dtypes import ALIASES, DTYPES, Dtype
from ptogen.ops.sizing import Role
from ptogen.sanitize.rewrite import code_of

if TYPE_CHECKING:
    from ptogen.spec.model import Suite

FILE = "the calls"
"""What the compiler calls the text of the calls; call number n stands in line n."""

LAUNCH_CASE = "LaunchCase"
"""The function of a rendered kernel file that takes a case's name and its tensors (``templates/st/kernel.cpp.j2``)."""

MOST_BYTES = 1 << 30
"""Most bytes of a tensor."""

MOST_FUNCTIONS = 12
"""Functions that a message lists."""

SCALARS = {"int": "int", "bool": "bool", "double": "double", "size_t": "size_t"}
"""Types of scalars besides the dtypes."""

INTEGERS = {"int": (-(1 << 31), (1 << 31) - 1), "bool": (0, 1), "size_t": (0, (1 << 64) - 1)} | {
    dtype.ctype: (0, (1 << 8 * dtype.bytes) - 1)
    if dtype.name.startswith("u")
    else (-(1 << 8 * dtype.bytes - 1), (1 << 8 * dtype.bytes - 1) - 1)
    for dtype in DTYPES.values()
    if not dtype.is_float
}
"""The least and the most of each integer type of a scalar."""

LARGEST = {
    "half": Decimal(65504),
    "bfloat16_t": Decimal((2 - 2**-7) * 2.0**127),
    "float": Decimal((2 - 2**-23) * 2.0**127),
    "double": Decimal(sys.float_info.max),
}
"""The largest number of each other type of a scalar."""

NUMBER = re.compile(r"true|false|[+-]?(0[xX][0-9a-fA-F]+|(0|[1-9]\d*)(\.\d*)?([eE][+-]?\d+)?)")
"""What is written like one in C++ is no other there: 010 would be 8."""


@dataclass(frozen=True)
class TensorArgument:
    """A row-major tensor in GM.

    Attributes:
        dtype: of its elements.
        shape: in elements.
        name: what findings call it; the parameter's name where empty.
        data: file with its bytes; seeded data where there is none.
    """

    dtype: Dtype
    shape: tuple[int, ...]
    name: str = ""
    data: Path | None = None

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class ScalarArgument:
    """A number.

    Attributes:
        type: C++ type.
        value: as written.
    """

    type: str
    value: str

    def __str__(self) -> str:
        return f"{self.type}={self.value}"


@dataclass(frozen=True)
class Call:
    """A call of a function of the kernel file.

    Attributes:
        function: its name, with template arguments where it is given any.
        arguments: in the order of its parameters, a stream at their end left out.
        suite, case: the test that it becomes.
    """

    function: str
    arguments: tuple[TensorArgument | ScalarArgument, ...]
    suite: str = "Call"
    case: str = ""

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"

    def is_selected(self, glob: str | None) -> bool:
        return glob is None or any(fnmatch.fnmatchcase(name, glob) for name in (self.case, f"{self.suite}.{self.case}"))


def parse(text: str) -> Call:
    """A call from ``FUNCTION(float32[2,13], uint32[2,13], int=5)``.

    Raises:
        ValueError: what of it cannot be read, with a way out.
    """
    match = re.fullmatch(r"\s*((?:::)?[A-Za-z_][\w:]*(?:\s*<.*>)?)\s*\((.*)\)\s*", text, re.DOTALL)
    if match is None:
        raise ValueError(f"{text!r} is no call; it looks like 'LaunchAdd<float,2,13>(float32[2,13], float32[2,13])'")
    function = re.sub(r"\s+", " ", match[1])
    parts = re.findall(r"[^,\[\]]*(?:\[[^\]]*\][^,]*)?(?:,|$)", match[2]) if match[2].strip() else []
    words = [part.rstrip(",").strip() for part in parts]
    if words and not parts[-1]:
        words.pop()
    if not words:
        raise ValueError(f"{text!r} passes no tensor; give each parameter as dtype[rows,cols] or type=value")
    return Call(function, tuple(_argument(word) for word in words), case=re.sub(r"\W+", "_", function).strip("_"))


def _argument(word: str) -> TensorArgument | ScalarArgument:
    tensor = re.fullmatch(r"(\w+)\s*\[([^\]]*)\]", word)
    scalar = re.fullmatch(r"(\w+)\s*=\s*(\S+)", word)
    if tensor:
        dims = [dim.strip() for dim in tensor[2].split(",")]
        if not all(re.fullmatch(r"[1-9][0-9]*", dim) for dim in dims):
            raise ValueError(f"{word!r}: a shape is a list of positive numbers, such as float32[2,13]")
        dtype = _dtype(tensor[1], word)
        # A number with that many digits is too large alone.
        shape = tuple(int(dim[:12]) for dim in dims)
        if prod(shape) * dtype.bytes > MOST_BYTES:
            raise ValueError(f"{word!r} has more than {MOST_BYTES:,} B; give a smaller shape")
        return TensorArgument(dtype, shape)
    if scalar:
        if not NUMBER.fullmatch(scalar[2]):
            raise ValueError(f"{word!r}: {scalar[2]!r} is no number, true or false")
        ctype = SCALARS.get(scalar[1]) or _dtype(scalar[1], word).ctype
        if not _holds(ctype, scalar[2]):
            raise ValueError(f"{word!r}: {scalar[1]} does not hold {scalar[2]}; it takes {_takes(ctype)}")
        return ScalarArgument(ctype, scalar[2])
    raise ValueError(f"{word!r} is neither a tensor, such as float32[2,13], nor a scalar, such as int=5")


def _holds(ctype: str, number: str) -> bool:
    """Whether a C++ type has the number: for one with a fraction, whether it is not too large."""
    try:
        if "x" in number.lower():
            value = Decimal(int(number, 16))
        else:
            value = Decimal({"true": "1", "false": "0"}.get(number, number))
    except ArithmeticError:
        return False
    if ctype in LARGEST:
        return value.copy_abs() <= LARGEST[ctype]
    least, most = INTEGERS[ctype]
    return least <= value <= most and value == value.to_integral_value()


def _takes(ctype: str) -> str:
    if ctype in LARGEST:
        return f"numbers up to {float(LARGEST[ctype]):g}"
    least, most = INTEGERS[ctype]
    return f"whole numbers from {least} to {most}"


def _dtype(name: str, word: str) -> Dtype:
    if name not in DTYPES and name not in ALIASES:
        from difflib import get_close_matches

        near = get_close_matches(name, [*DTYPES, *ALIASES], 1)
        mean = f"; did you mean {near[0]}?" if near else "."
        raise ValueError(f"{word!r}: there is no dtype {name!r}{mean} There are {', '.join(DTYPES)}")
    return DTYPES[ALIASES.get(name, name)]


def of_suite(suite: Suite, folder: Path) -> tuple[Call, ...]:
    """The calls that a rendered host program makes: ``LaunchCase`` with the tensors and input data of each case.

    Args:
        suite: of a spec.
        folder: where the data files go.
    """
    from importlib import import_module

    golden = import_module(f"ptogen.golden.{suite.graph.golden_module}")
    calls = []
    for case, params in zip(suite.cases, suite.data_params, strict=True):
        arrays = golden.generate(**params)
        arguments = []
        for tensor in suite.graph.tensors(case):
            data = None
            if tensor.role is Role.IN:
                data = folder / f"{case.name}.{tensor.name}.bin"
                data.write_bytes(arrays[tensor.name].tobytes())
            arguments.append(TensorArgument(tensor.dtype, (tensor.rows, tensor.cols), tensor.name, data))
        calls.append(Call(LAUNCH_CASE, tuple(arguments), suite.test_suite, str(case.name)))
    return tuple(calls)


def numbered(calls: Sequence[Call]) -> tuple[Call, ...]:
    """The calls with case names that differ."""
    made: dict[str, Call] = {}
    for call in calls:
        more = (f"{call.case}_{number}" for number in itertools.count(2))
        case = next(name for name in itertools.chain([call.case], more) if name not in made)
        made[case] = replace(call, case=case)
    return tuple(made.values())


@dataclass(frozen=True)
class Function:
    """A function that a file defines, as far as it can be seen without a compiler.

    Attributes:
        name: without qualifiers.
        parameters: as they are written.
        instances: template arguments of its explicit instantiations.
        device: whether it is one of the device.
    """

    name: str
    parameters: tuple[str, ...]
    instances: tuple[str, ...] = ()
    device: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters."""
        found = (re.search(r"([A-Za-z_]\w*)\s*$", parameter) for parameter in self.parameters)
        return tuple(match[1] if match else "" for match in found)

    def __str__(self) -> str:
        text = f"{self.name}({', '.join(self.parameters)})"
        if not self.instances:
            return text
        more = f" and {len(self.instances) - 1} more" if len(self.instances) > 1 else ""
        return f"{text}, such as {self.name}<{self.instances[0]}>{more}"


WORDS = ("if", "for", "while", "switch", "catch", "return", "sizeof", "constexpr", "decltype")


def functions(text: str) -> list[Function]:
    """The functions that a driver may call: those of the host, or where there is none those of the device."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", code_of(text), flags=re.MULTILINE)
    instances: dict[str, list[str]] = {}
    for match in re.finditer(r"\btemplate\s+(?!<)[\w\s*&:]*?\b(\w+)\s*<([^;{}()]*)>\s*\(", code):
        instances.setdefault(match[1], []).append(re.sub(r"\s+", " ", match[2]).strip())
    found = []
    # A match can begin behind a statement only, which keeps long tables of numbers from being tried at every place.
    head = r"(?:\A|(?<=[;{}]))([^;{}]*?)\b([A-Za-z_]\w*)\s*\(([^(){};]*)\)\s*(?:noexcept\s*)?\{"
    for match in re.finditer(head, code):
        before, name, inside = match.groups()
        if name in WORDS or not re.search(r"[\w>*&]\s*$", before) or re.search(r"(^|\W)(else|return)\s*$", before):
            continue
        parameters = tuple(re.sub(r"\s+", " ", part).strip() for part in inside.split(",") if part.strip())
        device = bool(re.search(r"\b(AICORE|__aicore__|__global__|PTO_INTERNAL|PTO_INST)\b", before))
        found.append(Function(name, parameters, tuple(instances.get(name, ())), device))
    return [one for one in found if not one.device] or [one for one in found if one.device]


def listing(text: str) -> tuple[str, ...]:
    """The functions of a kernel file for a message."""
    found = functions(text)
    lines = [f"it has {one}" for one in found[:MOST_FUNCTIONS]]
    if len(found) > MOST_FUNCTIONS:
        lines.append(f"and {len(found) - MOST_FUNCTIONS} more")
    return tuple(lines or ["no function was found in it"])


def source(calls: Sequence[Call], text: str) -> str:
    """What to put behind the kernel file ``text``."""
    known = {one.name: one.names for one in functions(text)}
    lines = ["\n#include <ptogen/driver.hpp>\n"]
    for number, call in enumerate(calls, 1):
        base = re.sub(r"<.*", "", call.function, flags=re.DOTALL).split("::")[-1].strip()
        parameters = known.get(base, ())
        names, arguments = [], []
        for place, argument in enumerate(call.arguments):
            name = parameters[place] if place < len(parameters) else ""
            if isinstance(argument, TensorArgument):
                name = argument.name or name
                file = string(str(argument.data)) if argument.data else "nullptr"
                count, last = prod(argument.shape), argument.shape[-1]
                arguments.append(
                    f"::ptogen::Tensor<{argument.dtype.ctype}>({count}ull, {last}ull, {place + 1}, {file})"
                )
            else:
                arguments.append(f"static_cast<{argument.type}>({argument.value})")
            names.append(name or f"argument{place}")
        label = string(f"{base}({', '.join(names)})")
        given = "".join(f", {argument}" for argument in arguments)
        types = "".join(
            f", ::ptogen::Tensor<{one.dtype.ctype}>" if isinstance(one, TensorArgument) else f", {one.type}"
            for one in call.arguments
        )
        if call.function == LAUNCH_CASE:
            lines.append(
                f'#line {number} "{FILE}"\n'
                f"TEST({call.suite}, {call.case}) {{ ::ptogen::Drive({label}, [](auto... ptogen_arguments) {{ "
                f"void* const ptogen_gm[] = {{static_cast<void*>(ptogen_arguments)...}}; "
                f'{LAUNCH_CASE}("{call.case}", ptogen_gm, nullptr); }}{given}); }}\n'
            )
            continue
        # Inside of a TEST, names of testing::Test would hide those of the kernel.
        lines.append(
            f'#line {number} "{FILE}"\n'
            f"namespace {{ const auto ptogen_call{number} = [](auto&&... ptogen_arguments) -> "
            f"decltype((void){call.function}(static_cast<decltype(ptogen_arguments)>(ptogen_arguments)...)) {{ "
            f"{call.function}(static_cast<decltype(ptogen_arguments)>(ptogen_arguments)...); }}; "
            f'static_assert(::ptogen::kFits<decltype(ptogen_call{number}){types}>, "no such function"); }} '
            f"TEST({call.suite}, {call.case}) {{ ::ptogen::Drive({label}, ptogen_call{number}{given}); }}\n"
        )
    return "".join(lines)


def string(text: str) -> str:
    """A C++ string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def misfit(output: str) -> int | None:
    """The number of the call that the compiler finds no function for, from its output; None where all fit."""
    match = re.search(rf"^{re.escape(FILE)}:(\d+):.*\berror\b", output, re.MULTILINE)
    return int(match[1]) if match else None
