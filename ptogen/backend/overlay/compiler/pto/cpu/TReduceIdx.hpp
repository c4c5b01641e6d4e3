// SPDX-License-Identifier: Apache-2.0
// pto/cpu/TReduceIdx.hpp:27 says static_assert(false) in a template that nobody instantiates. Since CWG 2518 that is no error; g++ before 13 and
// clang++ before 17 still refuse it. While that header is read, `false` depends on the template's parameter DType.
#pragma once

#include <cstddef>
#include <type_traits>

#include <pto/common/pto_tile.hpp>
#include "pto/cpu/tile_offsets.hpp"

#if (defined(__clang__) && __clang_major__ < 17) || (!defined(__clang__) && defined(__GNUC__) && __GNUC__ < 13)
#define false (sizeof(DType) == 0)
#include_next <pto/cpu/TReduceIdx.hpp>
#undef false
#else
#include_next <pto/cpu/TReduceIdx.hpp>
#endif
