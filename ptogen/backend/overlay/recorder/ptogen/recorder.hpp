// SPDX-License-Identifier: Apache-2.0
// Writes what a kernel does, one JSON object a line, into the file that PTOGEN_RECORDING names; see ptogen/sanitize/reader.py for the reader.
//
// A step says where it was called from as an offset in the program; the reader asks the debug information for file and line.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

extern "C" const char __executable_start;

namespace ptogen {

class Recorder {
public:
    static Recorder& Instance()
    {
        static Recorder recorder;
        return recorder;
    }

    // Whether the calling thread is inside an upstream function, whose own calls are its own affair.
    static int& Depth()
    {
        thread_local int depth = 0;
        return depth;
    }

    void Test(const char* suite, const char* name)
    {
        steps_ = 0;
        Line("{\"t\":\"case\",\"suite\":\"%s\",\"name\":\"%s\"}", suite, name);
    }

    // `exception` is what ended it, as the inside of a JSON string; empty where none did.
    void TestEnd(bool failed, const std::string& exception)
    {
        Line("{\"t\":\"end\",\"failed\":%s,\"exception\":\"%s\"}", failed ? "true" : "false", exception.c_str());
    }

    void Allocation(const void* at, std::size_t bytes) { Line("{\"t\":\"gm\",\"at\":%zu,\"bytes\":%zu}", Number(at), bytes); }

    void Launch(const char* kernel, const std::string& arguments, unsigned blocks)
    {
        Line("{\"t\":\"launch\",\"kernel\":\"%s\",\"blocks\":%u,\"args\":[%s]}", kernel, blocks, arguments.c_str());
    }

    void Block(unsigned number) { Line("{\"t\":\"block\",\"i\":%u}", number); }

    // One step of a kernel: `body` is the inside of a JSON object.
    void Step(const void* from, const std::string& body)
    {
        if (Depth() > 0) {
            return;
        }
        if (++steps_ > kLimit) {
            if (steps_ == kLimit + 1) {
                Line("{\"t\":\"cut\",\"steps\":%llu}", kLimit);
            }
            return;
        }
        Line("{%s,\"pc\":%zu}", body.c_str(), static_cast<std::size_t>(static_cast<const char*>(from) - &__executable_start));
    }

    void Flush()
    {
        if (file_ != nullptr) {
            std::fflush(file_);
        }
    }

private:
    static constexpr unsigned long long kLimit = 200000;

    Recorder()
    {
        const char* path = std::getenv("PTOGEN_RECORDING");
        file_ = path == nullptr || *path == '\0' ? nullptr : std::fopen(path, "a");
        for (int number : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGTERM}) {
            std::signal(number, &Recorder::OnSignal);
        }
    }

    ~Recorder()
    {
        if (file_ != nullptr) {
            std::fclose(file_);
            file_ = nullptr;
        }
    }

    // What was recorded up to here is worth keeping; the program ends by the signal all the same.
    static void OnSignal(int number)
    {
        Instance().Flush();
        std::signal(number, SIG_DFL);
        std::raise(number);
    }

    static std::size_t Number(const void* pointer) { return reinterpret_cast<std::size_t>(pointer); }

    __attribute__((format(printf, 2, 3))) void Line(const char* format, ...)
    {
        if (file_ == nullptr) {
            return;
        }
        std::scoped_lock lock(mutex_);
        std::va_list arguments;
        va_start(arguments, format);
        std::vfprintf(file_, format, arguments);
        va_end(arguments);
        std::fputc('\n', file_);
    }

    std::FILE* file_ = nullptr;
    std::mutex mutex_;
    std::atomic<unsigned long long> steps_{0};
};

// Silences the recorder while upstream works.
struct Upstream {
    Upstream() { ++Recorder::Depth(); }
    ~Upstream() { --Recorder::Depth(); }
    Upstream(const Upstream&) = delete;
    Upstream& operator=(const Upstream&) = delete;
};

inline void Flag(const char* kind, int source, int target, int event, const void* from)
{
    char text[96];
    std::snprintf(text, sizeof(text), "\"t\":\"%s\",\"s\":%d,\"d\":%d,\"e\":%d", kind, source, target, event);
    Recorder::Instance().Step(from, text);
}

inline void Barrier(int pipe, const void* from)
{
    char text[64];
    std::snprintf(text, sizeof(text), "\"t\":\"bar\",\"p\":%d", pipe);
    Recorder::Instance().Step(from, text);
}

inline unsigned& BlockNumber()
{
    thread_local unsigned blocks = 1;
    return blocks;
}

} // namespace ptogen

__attribute__((noinline)) inline void set_flag(pipe_t source, pipe_t target, int event)
{
    ptogen::Flag("set", source, target, event, __builtin_return_address(0));
}

__attribute__((noinline)) inline void wait_flag(pipe_t source, pipe_t target, int event)
{
    ptogen::Flag("wait", source, target, event, __builtin_return_address(0));
}

__attribute__((noinline)) inline void pipe_barrier(pipe_t pipe) { ptogen::Barrier(pipe, __builtin_return_address(0)); }

inline uint32_t get_block_num() { return ptogen::BlockNumber(); }

// Snapshots differ in how many of these they name.
#ifndef EVENT_ID0
#define EVENT_ID0 0
#endif
#ifndef EVENT_ID1
#define EVENT_ID1 1
#endif
#ifndef EVENT_ID2
#define EVENT_ID2 2
#endif
#ifndef EVENT_ID3
#define EVENT_ID3 3
#endif
#ifndef EVENT_ID4
#define EVENT_ID4 4
#endif
#ifndef EVENT_ID5
#define EVENT_ID5 5
#endif
#ifndef EVENT_ID6
#define EVENT_ID6 6
#endif
#ifndef EVENT_ID7
#define EVENT_ID7 7
#endif
