// SPDX-License-Identifier: Apache-2.0
// The parts of the CANN runtime that host programs of system tests use. A GM allocation is recorded with its size and stands between bytes that
// belong to nobody, so that an access past its end is a finding and not a crash.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <ptogen/recorder.hpp>

using aclError = int;
inline constexpr int ACL_SUCCESS = 0;
inline constexpr int ACL_ERROR_NONE = 0;

enum aclrtMemMallocPolicy { ACL_MEM_MALLOC_HUGE_FIRST = 0, ACL_MEM_MALLOC_HUGE_ONLY = 1, ACL_MEM_MALLOC_NORMAL_ONLY = 2 };
enum aclrtMemcpyKind {
    ACL_MEMCPY_HOST_TO_HOST = 0,
    ACL_MEMCPY_HOST_TO_DEVICE = 1,
    ACL_MEMCPY_DEVICE_TO_HOST = 2,
    ACL_MEMCPY_DEVICE_TO_DEVICE = 3
};

namespace ptogen {
inline constexpr std::size_t kSlack = 1 << 16;

inline int Allocate(void** pointer, std::size_t size)
{
    auto* base = static_cast<char*>(std::calloc(1, size + 2 * kSlack));
    if (base == nullptr) {
        return 1;
    }
    // 512 bytes are what aclrtMalloc aligns to.
    const auto start = reinterpret_cast<std::uintptr_t>(base) + kSlack / 2;
    auto* data = reinterpret_cast<char*>((start + 511) / 512 * 512);
    *pointer = data;
    Recorder::Instance().Allocation(data, size);
    return 0;
}
} // namespace ptogen

inline int aclInit(const char*) { return 0; }
inline int aclFinalize() { return 0; }
inline int aclrtSetDevice(int) { return 0; }
inline int aclrtResetDevice(int) { return 0; }
inline int aclrtCreateStream(aclrtStream* stream)
{
    *stream = nullptr;
    return 0;
}
inline int aclrtDestroyStream(aclrtStream) { return 0; }
inline int aclrtSynchronizeStream(aclrtStream) { return 0; }
inline int aclrtMalloc(void** pointer, std::size_t size, int = 0) { return ptogen::Allocate(pointer, size); }
// Host buffers can be handed to a kernel as well: on the simulator they are GM.
inline int aclrtMallocHost(void** pointer, std::size_t size) { return ptogen::Allocate(pointer, size); }
// Nothing is freed: an address stands for one tensor as long as the program runs.
inline int aclrtFree(void*) { return 0; }
inline int aclrtFreeHost(void*) { return 0; }
inline int aclrtMemcpy(void* dst, std::size_t room, const void* src, std::size_t count, int)
{
    std::memcpy(dst, src, std::min(room, count));
    return 0;
}
inline int aclrtMemset(void* dst, std::size_t room, int value, std::size_t count)
{
    std::memset(dst, value, std::min(room, count));
    return 0;
}
inline const char* aclGetRecentErrMsg() { return ""; }
