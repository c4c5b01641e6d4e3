// SPDX-License-Identifier: Apache-2.0
// Stands before pto-isa's header of the same name: bfloat16_t is a type of its own, where upstream takes half for it without std::bfloat16_t.
#pragma once

#include <bit>
#include <cstdint>

#define bfloat16_t ptogen_upstream_bfloat16_t
#ifdef PTOGEN_NPU
#define aclFloat16 ptogen_upstream_aclFloat16
#endif
#include_next <pto/common/type.hpp>
#undef bfloat16_t
#ifdef PTOGEN_NPU
#undef aclFloat16
// The bits of a half, as host programs for an NPU have it; the simulator's headers take half itself for it.
typedef std::uint16_t aclFloat16;
#endif

struct bfloat16_t {
    std::uint16_t bits = 0;

    constexpr bfloat16_t() = default;
    constexpr bfloat16_t(float value)
    {
        const auto word = std::bit_cast<std::uint32_t>(value);
        bits = static_cast<std::uint16_t>((word + 0x7FFF + ((word >> 16) & 1)) >> 16);
    }
    constexpr operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};
