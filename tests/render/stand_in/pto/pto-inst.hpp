// Names that a rendered kernel uses, with nothing behind them and nothing newer than C++17.
#pragma once
#include <cstdint>

#define __global__
#define AICORE
#define __gm__

using half = uint16_t;
using bfloat16_t = uint16_t;
enum pipe_t { PIPE_S, PIPE_V, PIPE_MTE2, PIPE_MTE3 };
enum event_t { EVENT_ID0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 };
inline void set_flag(pipe_t, pipe_t, event_t) {}
inline void wait_flag(pipe_t, pipe_t, event_t) {}
inline void pipe_barrier(pipe_t) {}

namespace pto {
enum class TileType { Vec };
enum class BLayout { RowMajor };
template <int...>
struct Shape {};
template <int...>
struct Stride {};
template <typename T, typename S, typename D>
struct GlobalTensor {
    explicit GlobalTensor(T*) {}
};
template <TileType, typename T, int, int, BLayout, int, int>
struct Tile {};
template <typename T, typename A>
void TASSIGN(T&, A) {}
template <typename... T>
void TLOAD(T&...) {}
template <typename... T>
void TSTORE(T&...) {}
template <typename... T>
void TSORT32(T&...) {}
} // namespace pto
