// SPDX-License-Identifier: Apache-2.0
// Event<Src, Dst>, which the NPU headers have and the simulator has not: a set_flag where it takes a RecordEvent, a wait_flag or, on one pipe, a
// barrier where it is waited for (pto/npu/a2a3/TSync.hpp, pto/npu/a5/TSync.hpp). Every event object takes the next id of its pair of pipes.
#pragma once

#include <ptogen/pipes.hpp>
#include <ptogen/recorder.hpp>

namespace ptogen {
struct EventTag {};

template <typename T>
inline constexpr bool kIsEvent = std::is_base_of_v<EventTag, std::remove_cvref_t<T>>;

template <int Source, int Target>
int NextId()
{
    thread_local int next = 0;
    const int id = next;
    next = (next + 1) % 8;
    return id;
}
} // namespace ptogen

namespace pto {
template <Op Source, Op Target, bool Automatic = true, event_t Id = EVENT_ID0>
class Event : public ptogen::EventTag {
public:
    static constexpr int srcPipe = ptogen::PipeOf(Source);
    static constexpr int dstPipe = ptogen::PipeOf(Target);

    Event() = default;
    __attribute__((noinline)) Event(RecordEvent) { Set(__builtin_return_address(0)); }

    __attribute__((noinline)) Event& operator=(RecordEvent)
    {
        Set(__builtin_return_address(0));
        return *this;
    }

    template <uint8_t CrossCore = 0xff>
    __attribute__((noinline)) Event& Init()
    {
        Set(__builtin_return_address(0));
        return *this;
    }

    template <uint8_t CrossCore = 0xff>
    __attribute__((noinline)) Event& Record()
    {
        Set(__builtin_return_address(0));
        return *this;
    }

    template <uint8_t CrossCore = 0xff>
    __attribute__((noinline)) Event& Wait()
    {
        WaitFrom(__builtin_return_address(0));
        return *this;
    }

    void WaitFrom(const void* from)
    {
        if constexpr (srcPipe == dstPipe) {
            // On an A5 only MTE2 and MTE3 take a barrier of their own; the recording says what was asked for and the reader judges.
            ptogen::Barrier(srcPipe, from);
        } else {
            ptogen::Flag("wait", srcPipe, dstPipe, id_, from);
        }
    }

private:
    void Set(const void* from)
    {
        if constexpr (srcPipe != dstPipe) {
            ptogen::Flag("set", srcPipe, dstPipe, id_, from);
        }
    }

    const int id_ = Automatic ? ptogen::NextId<srcPipe, dstPipe>() : Id;
};
} // namespace pto

namespace pto {
// pto_instr.hpp's own TSYNC goes to functions that the simulator has not got.
template <Op One>
__attribute__((noinline)) inline void TSYNC()
{
    ptogen::Barrier(ptogen::PipeOf(One), __builtin_return_address(0));
}

template <typename... Events>
__attribute__((noinline)) inline void TSYNC(Events&... events)
{
    (events.WaitFrom(__builtin_return_address(0)), ...);
}
} // namespace pto
