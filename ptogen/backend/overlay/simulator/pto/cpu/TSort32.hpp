// SPDX-License-Identifier: Apache-2.0
// TSORT32 on the simulator. pto-isa's function computes, except where a defect applies that the headers at hand really have
// (PTOGEN_DEFECT_*, learnt by ptogen/backend/probe.py): there a function computes that is written from docs/isa/TSORT32.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <vector>

#include <pto/common/pto_tile.hpp>
#include "pto/cpu/tile_offsets.hpp"

#include <ptogen/calls.hpp>
#include <ptogen/region.hpp>

#define TSORT32_IMPL TSORT32_UPSTREAM_IMPL
#include_next <pto/cpu/TSort32.hpp>
#undef TSORT32_IMPL

#ifndef PTOGEN_DEFECT_TSORT32_INDEX_VALUE
#define PTOGEN_DEFECT_TSORT32_INDEX_VALUE 0
#endif
#ifndef PTOGEN_DEFECT_TSORT32_HALF_BLOCKS
#define PTOGEN_DEFECT_TSORT32_HALF_BLOCKS 0
#endif
#ifndef PTOGEN_DEFECT_TSORT32_IDX_SHAPE
#define PTOGEN_DEFECT_TSORT32_IDX_SHAPE 0
#endif

namespace ptogen::sort32 {

inline constexpr int kBlock = 32;
inline constexpr std::size_t kRecordBytes = 8;
inline constexpr std::size_t kIndexOffset = 4;

// Valid rows and columns of the two inputs.
struct Shape {
    int rows;
    int cols;
    int idxRows;
    int idxCols;
};

// The defect of the headers at hand that these arguments meet, or null.
template <std::size_t ValueBytes>
const char* DefectOf(const Shape& shape)
{
    if (PTOGEN_DEFECT_TSORT32_IDX_SHAPE && (shape.idxRows != shape.rows || shape.idxCols != shape.cols)) {
        return "TSORT32_IDX_SHAPE";
    }
    if (PTOGEN_DEFECT_TSORT32_HALF_BLOCKS && ValueBytes == 2 && shape.cols > kBlock) {
        return "TSORT32_HALF_BLOCKS";
    }
    if (PTOGEN_DEFECT_TSORT32_INDEX_VALUE) {
        return "TSORT32_INDEX_VALUE";
    }
    return nullptr;
}

template <typename T>
struct Pair {
    T value;
    std::uint32_t index;
};

template <typename T>
bool Precedes(const Pair<T>& one, const Pair<T>& other)
{
    if (one.value > other.value || one.value < other.value) {
        return one.value > other.value;
    }
    return one.index < other.index;
}

// Sorts each block of 32 valid columns of each row: descending, -0.0 equal to +0.0, ties by the smaller index; what a NaN does is not defined.
// A record is the value's bytes, zeros up to byte 4, the index.
template <typename TileDst, typename TileSrc, typename TileIdx>
void Sort(TileDst& dst, TileSrc& src, TileIdx& idx, const Shape& shape)
{
    using T = typename TileSrc::DType;
    using Record = Pair<T>;
    const bool broadcast = shape.idxRows == 1;
    const std::size_t rowBytes = static_cast<std::size_t>(shape.cols) * kRecordBytes;
    if ((!broadcast && shape.idxRows < shape.rows) || shape.idxCols < shape.cols || rowBytes > TileDst::Cols * sizeof(T) ||
        shape.rows > TileDst::Rows) {
        char text[200];
        std::snprintf(
            text, sizeof(text), "TSORT32 cannot sort %d x %d values with %d x %d indices into a tile of %d x %d elements", shape.rows,
            shape.cols, shape.idxRows, shape.idxCols, static_cast<int>(TileDst::Rows), static_cast<int>(TileDst::Cols));
        Fail(text);
    }
    for (int row = 0; row < shape.rows; ++row) {
        const T* values = src.data() + pto::GetTileElementOffset<TileSrc>(row, 0);
        const auto* indices = idx.data() + pto::GetTileElementOffset<TileIdx>(broadcast ? 0 : row, 0);
        auto* out = reinterpret_cast<unsigned char*>(dst.data() + pto::GetTileElementOffset<TileDst>(row, 0));
        for (int start = 0; start < shape.cols; start += kBlock) {
            const int count = std::min(kBlock, shape.cols - start);
            Record pairs[kBlock];
            for (int at = 0; at < count; ++at) {
                const Record pair{values[start + at], indices[start + at]};
                int place = at;
                for (; place > 0 && Precedes(pair, pairs[place - 1]); --place) {
                    pairs[place] = pairs[place - 1];
                }
                pairs[place] = pair;
            }
            for (int at = 0; at < count; ++at) {
                unsigned char record[kRecordBytes] = {};
                std::memcpy(record, &pairs[at].value, sizeof(T));
                std::memcpy(record + kIndexOffset, &pairs[at].index, sizeof(std::uint32_t));
                std::memcpy(out + (start + at) * kRecordBytes, record, kRecordBytes);
            }
        }
    }
}

} // namespace ptogen::sort32

namespace pto {

template <typename TileDataDst, typename TileDataSrc, typename TileDataIdx>
PTO_INTERNAL void TSORT32_IMPL(TileDataDst& dst, TileDataSrc& src, TileDataIdx& idx)
{
    using T = typename TileDataSrc::DType;
    const ptogen::sort32::Shape shape{
        static_cast<int>(src.GetValidRow()), static_cast<int>(src.GetValidCol()), static_cast<int>(idx.GetValidRow()),
        static_cast<int>(idx.GetValidCol())};
    const char* defect = ptogen::sort32::DefectOf<sizeof(T)>(shape);
    if (defect != nullptr) {
        ptogen::Calls::Instance().Corrected("TSORT32", defect);
        ptogen::sort32::Sort(dst, src, idx, shape);
    } else {
        TSORT32_UPSTREAM_IMPL(dst, src, idx);
    }
}

template <typename TileDataDst, typename TileDataSrc, typename TileDataIdx, typename TmpTileData>
PTO_INTERNAL void TSORT32_IMPL(TileDataDst& dst, TileDataSrc& src, TileDataIdx& idx, TmpTileData&)
{
    TSORT32_IMPL(dst, src, idx);
}

} // namespace pto
