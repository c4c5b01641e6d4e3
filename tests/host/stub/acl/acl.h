// A stand-in for the part of ACL that a host program uses. ACL_FAULT=<function>:<n> makes the n-th call of a function fail; at exit the
// program says what was not released.
#ifndef STUB_ACL_H
#define STUB_ACL_H

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>

using aclError = int;
using aclrtStream = void*;
enum aclrtMemMallocPolicy { ACL_MEM_MALLOC_HUGE_FIRST };
enum aclrtMemcpyKind { ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST };

namespace stub {

struct State {
    std::map<std::string, int> calls;
    std::set<void*> memory;
    int initialized = 0;
    int devices = 0;
    int streams = 0;

    ~State()
    {
        std::printf(
            "acl stub: held at exit: %zu buffers, %d streams, %d devices, %d initializations\n", memory.size(), streams,
            devices, initialized);
    }
};

inline State state;

inline bool fails(const std::string& function)
{
    const int call = ++state.calls[function];
    const char* fault = std::getenv("ACL_FAULT");
    return fault != nullptr && function + ":" + std::to_string(call) == fault;
}

inline aclError counted(const char* function, int& counter, int change)
{
    const bool failed = fails(function);
    // A failed release is a release all the same.
    if (!failed || change < 0) {
        counter += change;
    }
    return failed ? 507018 : 0;
}

}  // namespace stub

inline const char* aclGetRecentErrMsg() { return std::getenv("ACL_FAULT") ? "the stub was told to fail" : nullptr; }

inline aclError aclInit(const char*) { return stub::counted("aclInit", stub::state.initialized, 1); }
inline aclError aclFinalize() { return stub::counted("aclFinalize", stub::state.initialized, -1); }
inline aclError aclrtSetDevice(int) { return stub::counted("aclrtSetDevice", stub::state.devices, 1); }
inline aclError aclrtResetDevice(int) { return stub::counted("aclrtResetDevice", stub::state.devices, -1); }

inline aclError aclrtCreateStream(aclrtStream* stream)
{
    *stream = &stub::state;
    return stub::counted("aclrtCreateStream", stub::state.streams, 1);
}

inline aclError aclrtDestroyStream(aclrtStream stream)
{
    return stream == &stub::state ? stub::counted("aclrtDestroyStream", stub::state.streams, -1) : 107003;
}

inline aclError aclrtSynchronizeStream(aclrtStream) { return stub::fails("aclrtSynchronizeStream") ? 507015 : 0; }

inline aclError aclrtMalloc(void** memory, size_t size, aclrtMemMallocPolicy)
{
    if (stub::fails("aclrtMalloc")) {
        return 207001;
    }
    *memory = std::malloc(size);
    std::memset(*memory, 0xdd, size);
    stub::state.memory.insert(*memory);
    return 0;
}

inline aclError aclrtFree(void* memory)
{
    if (stub::state.memory.erase(memory) == 0) {
        return 107000;
    }
    std::free(memory);
    return stub::fails("aclrtFree") ? 507899 : 0;
}

inline aclError aclrtMemcpy(void* dst, size_t dstSize, const void* src, size_t size, aclrtMemcpyKind)
{
    if (stub::fails("aclrtMemcpy") || size > dstSize) {
        return 107000;
    }
    std::memcpy(dst, src, size);
    return 0;
}

#endif
