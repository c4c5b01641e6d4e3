"""Launches and element access in the copy of a source."""

from __future__ import annotations

import pytest

from ptogen.sanitize.rewrite import rewrite


@pytest.mark.parametrize(
    ("text", "kernel", "label", "blocks", "rest"),
    [
        ("run<<<1, nullptr, stream>>>(out, a);", "run", "run(out, a)", "1", ", out, a"),
        ("run<T, 3><<<blocks, nullptr, stream>>>(out);", "run<T, 3>", "run<T, 3>(out)", "blocks", ", out"),
        (
            "ns::run<A<B<int>>, (1 > 2)><<<2, nullptr, s>>>();",
            "ns::run<A<B<int>>, (1 > 2)>",
            "ns::run<A<B<int>>, (1 > 2)>()",
            "2",
            "",
        ),
        ("CONCAT(run, CASE)<T><<<1, nullptr, s>>>(a);", "CONCAT(run, CASE)<T>", "CONCAT(run, CASE)<T>(a)", "1", ", a"),
        (
            "run<<<f(1, 2), nullptr, s>>>((half*)x, g(a, b));",
            "run",
            "run((half*)x, g(a, b))",
            "f(1, 2)",
            ", (half*)x, g(a, b)",
        ),
    ],
)
def test_a_launch_becomes_a_call(text, kernel, label, blocks, rest):
    call = f"[&](auto&&... ptogen_arguments) {{ {kernel}(ptogen_arguments...); }}"
    assert rewrite(text) == f'::ptogen::Launch("{label}", ({blocks}), {call}{rest});'


def test_every_line_keeps_its_number():
    text = "a();\nrun<T>\n    <<<1, nullptr,\n       stream>>>(\n        out,\n        a);\nlast();\n"
    made = rewrite(text)
    assert made.count("\n") == text.count("\n")
    assert made.splitlines()[-1] == "last();"
    assert made.splitlines()[0] == "a();"


def test_a_macro_keeps_its_backslashes():
    made = rewrite("#define GO(N) \\\n    run##N<<<1, \\\n    nullptr, s>>>(out)\nnext();\n")
    assert made.count("\n") == 4
    assert all(line.endswith("\\") for line in made.splitlines()[:2])
    assert made.endswith("next();\n")
    assert "run##N(ptogen_arguments...)" in made


@pytest.mark.parametrize(
    "text",
    [
        "// run<<<1, nullptr, s>>>(out);",
        "/* run<<<1, nullptr, s>>>(out);\n */",
        'log("run<<<1, 2, 3>>>(x)");',
        'auto text = R"(run<<<1, 2, 3>>>(x))";',
        "value = 1 << 3 >> 2;",
        "cout << 1'000 << 'a' << '<' << \"<<<\";",
        "p->SetValue(1, 2); f().SetValue(3);",
        "A<B<C<int>>> x(1);",
    ],
)
def test_what_is_no_launch_stays(text):
    assert rewrite(text) == text


def test_element_access_is_recorded():
    assert (
        rewrite("counts.SetValue(0, n.GetValue(1));")
        == "::ptogen::At(counts).SetValue(0, ::ptogen::At(n).GetValue(1));"
    )


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("b();\n#endif\n    TADD_IMPL(c, a, b);", "b();\n#endif\n    TADD(c, a, b);"),
        ("void TADD_IMPL(int a) {}", "void TADD_IMPL(int a) {}"),
    ],
)
def test_an_instruction_is_called_by_its_public_name(text, made):
    assert rewrite(text) == made


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ('asm volatile("MOV %0, PC\\n" : "+l"(pc));', ";"),
        ('while (f()) {\n    asm("nop"\n        : : );\n}', "while (f()) {\n    \n;\n}"),
        ("#include <pto/npu/a2a3/TQuant.hpp>\nint a;", "\nint a;"),
        ('#include "pto/npu/a2a3/TQuant.hpp"\nint a;', "\nint a;"),
        ('#include "own.hpp"\nint a;', '#include "own.hpp"\nint a;'),
        ("#include <pto/pto-inst.hpp>", "#include <pto/pto-inst.hpp>"),
        ('// asm("nop");', '// asm("nop");'),
    ],
)
def test_what_only_the_device_has_is_left_out(text, made):
    assert rewrite(text) == made


def test_launches_behind_one_another_and_one_that_is_none():
    text = "void F() { A<<<1, 0, s>>>(x); b = c <<< 2; B<int><<<2, 0, s>>>(x, y); }"
    both = rewrite(text)
    alone = [rewrite(f"void F() {{ {call} }}")[11:-2] for call in ("A<<<1, 0, s>>>(x);", "B<int><<<2, 0, s>>>(x, y);")]
    assert both == f"void F() {{ {alone[0]} b = c <<< 2; {alone[1]} }}"
    assert "<<<1" not in both and "<<<2, 0" not in both
