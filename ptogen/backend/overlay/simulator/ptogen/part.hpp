// SPDX-License-Identifier: Apache-2.0
// The TPART family on the simulator. pto-isa's functions compute, except where a defect applies that the headers at hand really have
// (PTOGEN_DEFECT_*, learnt by ptogen/backend/probe.py): there a function computes that is written from docs/isa/TPARTMIN.md and from what
// the NPU headers do with ties.
#pragma once

#include <cstdint>
#include <cstdio>
#include <type_traits>

#include <pto/common/pto_tile.hpp>
#include "pto/cpu/tile_offsets.hpp"

#include <ptogen/calls.hpp>
#include <ptogen/region.hpp>

#define TPARTADD_IMPL TPARTADD_UPSTREAM_IMPL
#define TPARTMUL_IMPL TPARTMUL_UPSTREAM_IMPL
#define TPARTMAX_IMPL TPARTMAX_UPSTREAM_IMPL
#define TPARTMIN_IMPL TPARTMIN_UPSTREAM_IMPL
#define TPARTARGMAX_IMPL TPARTARGMAX_UPSTREAM_IMPL
#define TPARTARGMIN_IMPL TPARTARGMIN_UPSTREAM_IMPL
#include_next <pto/cpu/TPartAdd.hpp>
#include_next <pto/cpu/TPartMax.hpp>
#include_next <pto/cpu/TPartMin.hpp>
#if __has_include_next(<pto/cpu/TPartMul.hpp>)
#include_next <pto/cpu/TPartMul.hpp>
#endif
#if __has_include_next(<pto/cpu/TPartArgMax.hpp>)
#include_next <pto/cpu/TPartArgMax.hpp>
#include_next <pto/cpu/TPartArgMin.hpp>
#endif
#undef TPARTADD_IMPL
#undef TPARTMUL_IMPL
#undef TPARTMAX_IMPL
#undef TPARTMIN_IMPL
#undef TPARTARGMAX_IMPL
#undef TPARTARGMIN_IMPL

#ifndef PTOGEN_DEFECT_TPARTADD_8BIT
#define PTOGEN_DEFECT_TPARTADD_8BIT 0
#endif
#ifndef PTOGEN_DEFECT_TPARTMUL_8BIT
#define PTOGEN_DEFECT_TPARTMUL_8BIT 0
#endif
#ifndef PTOGEN_DEFECT_TPARTMUL_MISSING
#define PTOGEN_DEFECT_TPARTMUL_MISSING 0
#endif
#ifndef PTOGEN_DEFECT_TPARTMAX_8BIT
#define PTOGEN_DEFECT_TPARTMAX_8BIT 0
#endif
#ifndef PTOGEN_DEFECT_TPARTMIN_8BIT
#define PTOGEN_DEFECT_TPARTMIN_8BIT 0
#endif
#ifndef PTOGEN_DEFECT_TPARTARGMAX_MISSING
#define PTOGEN_DEFECT_TPARTARGMAX_MISSING 0
#endif
#ifndef PTOGEN_DEFECT_TPARTARGMAX_TIES
#define PTOGEN_DEFECT_TPARTARGMAX_TIES 0
#endif
#ifndef PTOGEN_DEFECT_TPARTARGMAX_PITCH
#define PTOGEN_DEFECT_TPARTARGMAX_PITCH 0
#endif
#ifndef PTOGEN_DEFECT_TPARTARGMIN_MISSING
#define PTOGEN_DEFECT_TPARTARGMIN_MISSING 0
#endif
#ifndef PTOGEN_DEFECT_TPARTARGMIN_TIES
#define PTOGEN_DEFECT_TPARTARGMIN_TIES 0
#endif
#ifndef PTOGEN_DEFECT_TPARTARGMIN_PITCH
#define PTOGEN_DEFECT_TPARTARGMIN_PITCH 0
#endif

// For the probes: what is supplied here that no version of pto-isa's simulator has.
#define PTOGEN_HAS_PART_DTYPES 1

namespace ptogen::part {

// Integers wrap; these are not used for floats.
struct Add {
    template <typename T>
    static T Of(T one, T two)
    {
        return static_cast<T>(static_cast<std::uint64_t>(one) + static_cast<std::uint64_t>(two));
    }
};

struct Mul {
    template <typename T>
    static T Of(T one, T two)
    {
        return static_cast<T>(static_cast<std::uint64_t>(one) * static_cast<std::uint64_t>(two));
    }
};

// Of equal values the first one is taken.
struct Max {
    template <typename T>
    static bool TakesSecond(T one, T two)
    {
        return two > one;
    }

    template <typename T>
    static T Of(T one, T two)
    {
        return TakesSecond(one, two) ? two : one;
    }
};

struct Min {
    template <typename T>
    static bool TakesSecond(T one, T two)
    {
        return two < one;
    }

    template <typename T>
    static T Of(T one, T two)
    {
        return TakesSecond(one, two) ? two : one;
    }
};

// Integer types that no version of the simulator takes.
template <typename T>
inline constexpr bool kUnlisted = std::is_integral_v<T> && (sizeof(T) == 8 || (sizeof(T) > 1 && std::is_unsigned_v<T>));

template <typename Tile>
bool Holds(const Tile& tile, int row, int col)
{
    return row < static_cast<int>(tile.GetValidRow()) && col < static_cast<int>(tile.GetValidCol());
}

template <typename Tile>
auto& At(Tile& tile, int row, int col)
{
    return tile.data()[pto::GetTileElementOffset<Tile>(row, col)];
}

// Calls element(row, col, in src0, in src1) for every valid element of dst. One of them must be true: what happens otherwise is left to each
// implementation, and nobody should rely on it.
template <typename Dst, typename Src0, typename Src1, typename Element>
void ForEach(Dst& dst, Src0& src0, Src1& src1, Element element)
{
    for (int row = 0; row < static_cast<int>(dst.GetValidRow()); ++row) {
        for (int col = 0; col < static_cast<int>(dst.GetValidCol()); ++col) {
            const bool in0 = Holds(src0, row, col);
            const bool in1 = Holds(src1, row, col);
            if (!in0 && !in1) {
                char text[120];
                std::snprintf(text, sizeof(text), "TPART: no source has a value at row %d, column %d of dst", row, col);
                Fail(text);
            }
            element(row, col, in0, in1);
        }
    }
}

template <typename Op, typename Dst, typename Src0, typename Src1>
void Combine(Dst& dst, Src0& src0, Src1& src1)
{
    ForEach(dst, src0, src1, [&](int row, int col, bool in0, bool in1) {
        At(dst, row, col) = in0 && in1 ? Op::Of(At(src0, row, col), At(src1, row, col)) :
                            in0        ? At(src0, row, col) :
                                         At(src1, row, col);
    });
}

template <typename Op, typename Dst, typename Src0, typename Src1, typename DstIdx, typename Src0Idx, typename Src1Idx>
void Select(Dst& dst, Src0& src0, Src1& src1, DstIdx& dstIdx, Src0Idx& src0Idx, Src1Idx& src1Idx)
{
    ForEach(dst, src0, src1, [&](int row, int col, bool in0, bool in1) {
        const bool second = in0 && in1 ? Op::TakesSecond(At(src0, row, col), At(src1, row, col)) : in1;
        At(dst, row, col) = second ? At(src1, row, col) : At(src0, row, col);
        At(dstIdx, row, col) = second ? At(src1Idx, row, col) : At(src0Idx, row, col);
    });
}

// Whether some value that both sources have is the same in both.
template <typename Src0, typename Src1>
bool HasTies(Src0& src0, Src1& src1)
{
    for (int row = 0; Holds(src0, row, 0) && Holds(src1, row, 0); ++row) {
        for (int col = 0; Holds(src0, row, col) && Holds(src1, row, col); ++col) {
            if (At(src0, row, col) == At(src1, row, col)) {
                return true;
            }
        }
    }
    return false;
}

} // namespace ptogen::part

namespace pto {

// MISSING is the id of the defect that upstream has no such function, or null.
#define PTOGEN_PART(NAME, NAME_IMPL, UPSTREAM, OP, MISSING, DTYPES, EIGHT_BIT, EIGHT_BIT_DEFECT) \
    template <typename Dst, typename Src0, typename Src1> \
    PTO_INTERNAL void NAME_IMPL(Dst& dst, Src0& src0, Src1& src1) \
    { \
        using T = typename Dst::DType; \
        constexpr bool kEightBit = EIGHT_BIT_DEFECT != 0 && std::is_integral_v<T> && sizeof(T) == 1; \
        constexpr const char* kMissing = MISSING; \
        if constexpr (kMissing != nullptr || ptogen::part::kUnlisted<T> || kEightBit) { \
            ptogen::Calls::Instance().Corrected(NAME, kMissing != nullptr ? kMissing : kEightBit ? EIGHT_BIT : DTYPES); \
            ptogen::part::Combine<OP>(dst, src0, src1); \
        } else { \
            UPSTREAM(dst, src0, src1); \
        } \
    }

PTOGEN_PART(
    "TPARTADD", TPARTADD_IMPL, TPARTADD_UPSTREAM_IMPL, ptogen::part::Add, nullptr, "TPARTADD_DTYPES",
    "TPARTADD_8BIT", PTOGEN_DEFECT_TPARTADD_8BIT)
PTOGEN_PART(
    "TPARTMUL", TPARTMUL_IMPL, TPARTMUL_UPSTREAM_IMPL, ptogen::part::Mul, PTOGEN_DEFECT_TPARTMUL_MISSING ? "TPARTMUL_MISSING" : nullptr, "TPARTMUL_DTYPES",
    "TPARTMUL_8BIT", PTOGEN_DEFECT_TPARTMUL_8BIT)
PTOGEN_PART(
    "TPARTMAX", TPARTMAX_IMPL, TPARTMAX_UPSTREAM_IMPL, ptogen::part::Max, nullptr, "TPARTMAX_DTYPES",
    "TPARTMAX_8BIT", PTOGEN_DEFECT_TPARTMAX_8BIT)
PTOGEN_PART(
    "TPARTMIN", TPARTMIN_IMPL, TPARTMIN_UPSTREAM_IMPL, ptogen::part::Min, nullptr, "TPARTMIN_DTYPES",
    "TPARTMIN_8BIT", PTOGEN_DEFECT_TPARTMIN_8BIT)

#undef PTOGEN_PART

#define PTOGEN_PART_ARG(NAME, NAME_IMPL, UPSTREAM, OP, ID, MISSING, TIES, PITCH) \
    template <typename Dst, typename Src0, typename Src1, typename DstIdx, typename Src0Idx, typename Src1Idx> \
    PTO_INTERNAL void NAME_IMPL( \
        Dst& dst, Src0& src0, Src1& src1, DstIdx& dstIdx, Src0Idx& src0Idx, Src1Idx& src1Idx) \
    { \
        constexpr bool kUnlikePitches = \
            Dst::Cols != DstIdx::Cols || Src0::Cols != Src0Idx::Cols || Src1::Cols != Src1Idx::Cols; \
        const char* defect = nullptr; \
        if (MISSING != 0) { \
            defect = ID "_MISSING"; \
        } else if (PITCH != 0 && kUnlikePitches) { \
            defect = ID "_PITCH"; \
        } else if (TIES != 0 && ptogen::part::HasTies(src0, src1)) { \
            defect = ID "_TIES"; \
        } \
        if (defect != nullptr) { \
            ptogen::Calls::Instance().Corrected(NAME, defect); \
            ptogen::part::Select<OP>(dst, src0, src1, dstIdx, src0Idx, src1Idx); \
        } else { \
            if constexpr (MISSING == 0) { \
                UPSTREAM(dst, src0, src1, dstIdx, src0Idx, src1Idx); \
            } \
        } \
    }

PTOGEN_PART_ARG(
    "TPARTARGMAX", TPARTARGMAX_IMPL, TPARTARGMAX_UPSTREAM_IMPL, ptogen::part::Max, "TPARTARGMAX", PTOGEN_DEFECT_TPARTARGMAX_MISSING,
    PTOGEN_DEFECT_TPARTARGMAX_TIES, PTOGEN_DEFECT_TPARTARGMAX_PITCH)
PTOGEN_PART_ARG(
    "TPARTARGMIN", TPARTARGMIN_IMPL, TPARTARGMIN_UPSTREAM_IMPL, ptogen::part::Min, "TPARTARGMIN", PTOGEN_DEFECT_TPARTARGMIN_MISSING,
    PTOGEN_DEFECT_TPARTARGMIN_TIES, PTOGEN_DEFECT_TPARTARGMIN_PITCH)

#undef PTOGEN_PART_ARG

} // namespace pto
