// SPDX-License-Identifier: Apache-2.0
// What `kernel<<<blocks, l2, stream>>>(...)` becomes in the copy of the sources, and `tile.SetValue(...)`.
#pragma once

#include <ptogen/instruction.hpp>

namespace ptogen {

template <typename T>
void AppendPointer(std::string& text, const T& value)
{
    text += text.empty() ? "" : ",";
    if constexpr (std::is_pointer_v<T>) {
        text += std::to_string(reinterpret_cast<std::uintptr_t>(value));
    } else {
        text += "null";
    }
}

// Runs the blocks one after another, each on a core of its own.
template <typename Kernel, typename... Arguments>
void Launch(const char* name, unsigned long long blocks, Kernel&& kernel, Arguments&&... arguments)
{
    std::string pointers;
    (AppendPointer(pointers, arguments), ...);
    Recorder::Instance().Launch(name, pointers, static_cast<unsigned>(blocks));
    BlockNumber() = static_cast<unsigned>(blocks);
    for (unsigned block = 0; block < blocks; ++block) {
        Recorder::Instance().Block(block);
        pto::cpu_sim::set_execution_context(block, 0, 1);
        kernel(arguments...);
    }
    pto::cpu_sim::set_execution_context(0, 0, 1);
    BlockNumber() = 1;
}

// Element access of a tile from the scalar unit, recorded as such.
template <typename T>
struct Elements {
    T& object;

    template <typename... Arguments>
    __attribute__((noinline)) decltype(auto) SetValue(Arguments&&... arguments)
    {
        return Instruction(
            "SetValue", std::string(), __builtin_return_address(0),
            [](auto& tile, auto&&... rest) -> decltype(auto) { return tile.SetValue(std::forward<decltype(rest)>(rest)...); }, object,
            std::forward<Arguments>(arguments)...);
    }

    template <typename... Arguments>
    __attribute__((noinline)) decltype(auto) GetValue(Arguments&&... arguments)
    {
        return Instruction(
            "GetValue", std::string(), __builtin_return_address(0),
            [](auto& tile, auto&&... rest) -> decltype(auto) { return tile.GetValue(std::forward<decltype(rest)>(rest)...); }, object,
            std::forward<Arguments>(arguments)...);
    }
};

template <typename T>
Elements<T> At(T& object)
{
    return {object};
}

} // namespace ptogen

// The device compiler's own variables; a local of the same name hides them.
inline struct {
    operator long long() const { return get_block_idx(); }
} block_idx;
inline struct {
    operator long long() const { return get_block_num(); }
} block_num;

// Intrinsics that neither compute nor order anything.
inline long long get_sys_cnt() { return 0; }
inline long long get_icache_prl_st() { return 0; }
template <typename... Arguments>
void preload(Arguments&&...)
{}

#ifdef PTOGEN_NPU
// A half of the device compiler.
#define __fp16 half

// Intrinsics of the device that some kernels call by themselves: recorded as steps of which nothing is known.
#define PTOGEN_INTRINSIC(NAME)                                                                                         \
    template <typename... Arguments>                                                                                   \
    __attribute__((noinline)) void NAME(Arguments&&...)                                                                \
    {                                                                                                                  \
        ptogen::Recorder::Instance().Step(                                                                             \
            __builtin_return_address(0), "\"t\":\"op\",\"n\":\"" #NAME "\",\"v\":[],\"a\":[]");                        \
    }
PTOGEN_INTRINSIC(copy_cbuf_to_gm)
PTOGEN_INTRINSIC(copy_cbuf_to_ubuf)
PTOGEN_INTRINSIC(copy_gm_to_cbuf_align_v2)
PTOGEN_INTRINSIC(create_cbuf_matrix)
PTOGEN_INTRINSIC(set_nd_para)
PTOGEN_INTRINSIC(set_mask_count)
PTOGEN_INTRINSIC(vector_dup)
#undef PTOGEN_INTRINSIC
#endif

// The simulator's headers have it only where the compiler has std::bfloat16_t.
namespace pto {
template <typename T>
    requires std::is_same_v<T, bfloat16_t>
constexpr auto PadValueCustom(T value)
{
    return static_cast<PadValue>((1ULL << 32) | value.bits);
}
} // namespace pto

// Macros of NPU headers that the simulator's headers of the same instructions do not have.
#ifndef PTO_CEIL
#define PTO_CEIL(value, multiple) (((value) + (multiple)-1) / (multiple) * (multiple))
#endif
