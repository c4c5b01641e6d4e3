// SPDX-License-Identifier: Apache-2.0
// What the probes of the ops' defects are written with. A probe runs pto-isa's own function on a few values and is true where the result
// contradicts the ISA. Expected results are computed here, by plain loops over arrays.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <pto/pto-inst.hpp>

namespace ptogen::probe {

// Runs a probe in a process of its own and prints `<number> <0|1>`, or ? where it gives no answer. A probe that ends by a signal has found a
// defect.
template <typename Probe>
void Report(int number, Probe probe)
{
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        _exit(probe() ? 1 : 0);
    }
    int status = 0;
    const bool ended = child > 0 && waitpid(child, &status, 0) == child;
    const int answer = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    std::printf("%d %s\n", number, !ended || answer > 1 ? "?" : answer == 1 ? "1" : "0");
}

// One TSORT32 on `Rows` x `Cols` valid values and `IdxRows` x `IdxCols` valid indices; see Values and Indices for what is compared.
template <typename T, int Rows, int Cols, int IdxRows = Rows, int IdxCols = Cols>
class Sort32 {
    static constexpr int kPhysical = (Cols + 31) / 32 * 32;
    static constexpr int kSlots = 8 / sizeof(T);
    using Values_ = pto::Tile<pto::TileType::Vec, T, Rows, kPhysical, pto::BLayout::RowMajor, -1, -1>;
    using Indices_ = pto::Tile<pto::TileType::Vec, std::uint32_t, IdxRows, kPhysical, pto::BLayout::RowMajor, -1, -1>;
    using Records_ = pto::Tile<pto::TileType::Vec, T, Rows, kPhysical * kSlots, pto::BLayout::RowMajor, -1, -1>;

public:
    Sort32()
    {
        Values_ src(Rows, Cols);
        Indices_ idx(IdxRows, IdxCols);
        Records_ dst(Rows, Cols * kSlots);
        pto::TASSIGN(src, 0x0);
        pto::TASSIGN(idx, 0x4000);
        pto::TASSIGN(dst, 0x8000);
        // Ascending values, so the right order of each block is the reverse one; every number is exact in every float type.
        for (int at = 0; at < Rows * kPhysical; ++at) {
            src.data()[at] = static_cast<T>(at % kPhysical + 1);
        }
        for (int at = 0; at < IdxRows * kPhysical; ++at) {
            idx.data()[at] = Index(at / kPhysical, at % kPhysical);
        }
        std::memset(static_cast<void*>(dst.data()), 0, sizeof(records_));
        pto::TSORT32(dst, src, idx);
        std::memcpy(records_, dst.data(), sizeof(records_));
    }

    // Whether every record has the right value.
    bool Values() const
    {
        return All([this](int row, int col, int from) {
            const T expected = static_cast<T>(from + 1);
            return std::memcmp(Record(row, col), &expected, sizeof(T)) == 0;
        });
    }

    // Whether every record has the right index, all 32 bits of it.
    bool Indices() const
    {
        return All([this](int row, int col, int from) {
            const std::uint32_t expected = Index(IdxRows == 1 ? 0 : row, from);
            return std::memcmp(Record(row, col) + 4, &expected, sizeof(expected)) == 0;
        });
    }

private:
    static constexpr std::uint32_t Index(int row, int col)
    {
        return 0x80000001u * (col % 2) + 0x01000001u * (row % 2) + static_cast<std::uint32_t>(col) * 3;
    }

    const unsigned char* Record(int row, int col) const
    {
        return records_ + (static_cast<std::size_t>(row) * kPhysical + col) * 8;
    }

    template <typename Check>
    static bool All(Check check)
    {
        for (int row = 0; row < Rows; ++row) {
            for (int col = 0; col < Cols; ++col) {
                const int start = col / 32 * 32;
                const int count = Cols - start < 32 ? Cols - start : 32;
                if (!check(row, col, start + count - 1 - (col - start))) {
                    return false;
                }
            }
        }
        return true;
    }

    unsigned char records_[static_cast<std::size_t>(Rows) * kPhysical * 8];
};

// Whether the simulator has one memory for all tiles, each at its address.
#if __has_include(<pto/cpu/NPUMemoryModel.hpp>)
inline constexpr bool kHasMemory = true;
#else
inline constexpr bool kHasMemory = false;
#endif

// Whether the simulator has TPARTMUL.
#if __has_include(<pto/cpu/TPartMul.hpp>)
inline constexpr bool kHasPartMul = true;
#else
inline constexpr bool kHasPartMul = false;
#endif

// Whether the simulator has TPARTARGMAX and TPARTARGMIN; with them came int8 and uint8 for the whole family.
#if __has_include(<pto/cpu/TPartArgMax.hpp>)
#define PTOGEN_HAS_PART_ARG 1
#else
#define PTOGEN_HAS_PART_ARG 0
#endif
inline constexpr bool kHasPartArg = PTOGEN_HAS_PART_ARG;

// Whether the family takes unsigned 16 and 32-bit and all 64-bit integers. No static assertion can be asked that without an error, and no version
// of pto-isa's simulator is known to do so: only ptogen's own headers, which say it.
#ifdef PTOGEN_HAS_PART_DTYPES
inline constexpr bool kHasPartDtypes = true;
#else
inline constexpr bool kHasPartDtypes = false;
#endif

// TPARTARGMAX or TPARTARGMIN on two rows of equal sources, whose indices are 10 and up for src0 and 50 and up for src1.
template <bool Max, typename Value = float>
class PartArg {
    template <typename T, int Cols>
    using Rows_ = pto::Tile<pto::TileType::Vec, T, 2, Cols, pto::BLayout::RowMajor, 2, 4>;
    using Values_ = Rows_<Value, 32 / sizeof(Value)>;
    using Indices_ = Rows_<std::uint32_t, 8>;

public:
    // Whether the simulator takes the index of src1 where the values are equal.
    static bool TakesSrc1OfEqual() { return kHasPartArg && PartArg<Max, float>(0).Index(1, 1) == 55; }

    // Whether the simulator misses the index of the second row where float16 values stand 16 and their indices 8 to a row.
    static bool MissesIndices() { return kHasPartArg && PartArg<Max, half>(1).Index(1, 1) != (Max ? 55 : 15); }

private:
    // src1 is greater by `more` everywhere.
    explicit PartArg(int more)
    {
        Values_ src0, src1, dst;
        Indices_ src0Idx, src1Idx, dstIdx;
        pto::TASSIGN(src0, 0x0);
        pto::TASSIGN(src1, 0x400);
        pto::TASSIGN(dst, 0x800);
        pto::TASSIGN(src0Idx, 0xc00);
        pto::TASSIGN(src1Idx, 0x1000);
        pto::TASSIGN(dstIdx, 0x1400);
        std::memset(static_cast<void*>(dstIdx.data()), 0, sizeof(indices_));
        for (int row = 0; row < 2; ++row) {
            for (int col = 0; col < 4; ++col) {
                src0.data()[row * Values_::Cols + col] = static_cast<Value>(1);
                src1.data()[row * Values_::Cols + col] = static_cast<Value>(1 + more);
                src0Idx.data()[row * Indices_::Cols + col] = 10 + row * 4 + col;
                src1Idx.data()[row * Indices_::Cols + col] = 50 + row * 4 + col;
            }
        }
        Call(dst, src0, src1, dstIdx, src0Idx, src1Idx);
        std::memcpy(indices_, dstIdx.data(), sizeof(indices_));
    }

    template <typename... Tiles>
    static void Call(Tiles&... tiles)
    {
        // Found by the tiles, so that headers without such a name compile.
        if constexpr (kHasPartArg && Max) {
            TPARTARGMAX(tiles...);
        } else if constexpr (kHasPartArg) {
            TPARTARGMIN(tiles...);
        }
    }

    std::uint32_t Index(int row, int col) const { return indices_[row * Indices_::Cols + col]; }

    std::uint32_t indices_[2 * 8];

    template <bool, typename>
    friend class PartArg;
};

} // namespace ptogen::probe
