"""The CMake project around the suites of a tree.

It has the functions that their CMakeLists.txt call, as pto-isa's own parent project has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ptogen.backend import cache, host_kernel
from ptogen.backend.runtime import Kind, Runtime

HEAD = """\
# Written by ptogen.
cmake_minimum_required(VERSION 3.16)
project(ptogen_check LANGUAGES CXX)

# Every option of the compiler is chosen here, none by a build type or by CXXFLAGS: with NDEBUG the simulator checks
# nothing.
set(CMAKE_BUILD_TYPE "" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS "")
set(CMAKE_EXE_LINKER_FLAGS "")
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(GTest REQUIRED)

# One suite: main.cpp and, where there is one, <NAME>_kernel.cpp. The name of the target is the suite's key, because
# suites of several platforms
# have the same NAME.
function(_ptogen_st NAME)
    set(sources main.cpp)
    if(EXISTS "${PTOGEN_WORK}/kernel/${NAME}_kernel.cpp")
        list(APPEND sources "${PTOGEN_WORK}/kernel/${NAME}_kernel.cpp")
    elseif(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${NAME}_kernel.cpp")
        list(APPEND sources ${NAME}_kernel.cpp)
    endif()
    add_executable(${PTOGEN_SUITE} ${sources} ${PTOGEN_HOST})
    set_source_files_properties(${PTOGEN_HOST} PROPERTIES EXTERNAL_OBJECT TRUE)
    set_target_properties(${PTOGEN_SUITE} PROPERTIES OUTPUT_NAME program RUNTIME_OUTPUT_DIRECTORY ${PTOGEN_WORK}/bin)
    target_include_directories(${PTOGEN_SUITE} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PTOGEN_COMMON})
    target_compile_options(${PTOGEN_SUITE} PRIVATE ${PTOGEN_OPTIONS})
    target_link_libraries(${PTOGEN_SUITE} PRIVATE GTest::gtest_main Threads::Threads ${CMAKE_DL_LIBS})
endfunction()

function(pto_vec_st NAME)
    _ptogen_st(${NAME})
endfunction()

function(pto_cpu_sim_st NAME)
    _ptogen_st(${NAME})
endfunction()
"""

SUITE = """
set(PTOGEN_SUITE {key})
set(PTOGEN_WORK {work})
set(PTOGEN_HOST {host})
set(PTOGEN_OPTIONS {options})
add_subdirectory({source} suites/{key})
"""


@dataclass(frozen=True)
class Place:
    """Where the parts of a build are.

    Attributes:
        root: folder of this build in the cache.
        tree: the tree that is checked.
    """

    root: Path
    tree: Path

    @property
    def project(self) -> Path:
        """Source folder of the CMake project."""
        return self.root / "project"

    @property
    def build(self) -> Path:
        """Build folder of the CMake project."""
        return self.root / "build"

    def source(self, key: str) -> Path:
        """The ST directory of a suite as CMake, Ninja and compilers know it: a link, since they bear not every sign.

        It stands outside of the project, so that CMake says its whole path.
        """
        return self.root / "sources" / key

    @property
    def common(self) -> Path:
        """What the suites of the tree share, by a link, too; on their include path, as pto-isa has ``tests/common``."""
        return self.root / "common"

    def work(self, key: str) -> Path:
        """Where a suite runs: its data directories stand in it and its program in ``bin/``."""
        return self.root / "work" / key

    def program(self, key: str) -> Path:
        """The test program of a suite."""
        return self.work(key) / "bin" / "program"


def write(place: Place, suites: Iterable[tuple[str, Path, Kind]], runtimes: Mapping[Kind, Runtime]) -> bool:
    """Writes the project, with links to the suites, unless it already stands there; says whether it changed.

    Args:
        place: of the build.
        suites: key, ST directory and kind of each.
        runtimes: by kind.
    """
    changed = _link(place.common, place.tree.resolve() / "tests" / "common")
    text = f"{HEAD}\nset(PTOGEN_COMMON {_quoted(str(place.common))})\n"
    for key, source, kind in suites:
        runtime, link = runtimes[kind], place.source(key)
        changed |= _link(link, source)
        changed |= _copy_kernels(place, key, source)
        options = " ".join(_quoted(option) for option in _grouped(runtime.options))
        text += SUITE.format(
            key=key,
            work=_quoted(str(place.work(key))),
            host=_quoted(str(runtime.host)),
            options=options,
            source=_quoted(str(link)),
        )
    return cache.write_if_changed(place.project / "CMakeLists.txt", text) or changed


def _copy_kernels(place: Place, key: str, source: Path) -> bool:
    """Puts copies of a suite's kernel files where a host compiler cannot read them; says whether others are there."""
    folder = place.work(key) / "kernel"
    before = {path.name for path in folder.glob("*")}
    made = set()
    for file in source.glob("*_kernel.cpp"):
        try:
            text = host_kernel.for_simulator(host_kernel.read(file), str(place.source(key) / file.name))
        except OSError:
            continue  # the compiler will say so
        if text is not None:
            made.add(file.name)
            cache.write_if_changed(folder / file.name, text)
    for name in before - made:
        (folder / name).unlink()
    return made != before


def _link(link: Path, source: Path) -> bool:
    """Makes a link lead to a folder; says whether it did not."""
    if link.is_symlink() and link.readlink() == source:
        return False
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(source)
    return True


def _grouped(options: Iterable[str]) -> list[str]:
    """Options with their arguments kept together: CMake drops repeated ones otherwise."""
    grouped: list[str] = []
    rest = iter(options)
    for option in rest:
        if option in ("-include", "-include-pch", "-isystem"):
            grouped.append(f"SHELL:{option} {_shell(next(rest))}")
        else:
            grouped.append(option)
    return grouped


def _shell(word: str) -> str:
    import shlex

    return shlex.quote(word)


def _quoted(text: str) -> str:
    """A CMake string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$") + '"'
