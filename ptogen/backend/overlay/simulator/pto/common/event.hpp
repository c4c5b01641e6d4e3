// SPDX-License-Identifier: Apache-2.0
// Stands before pto-isa's header of the same name: each instruction is counted.
//
// Every public instruction ends with `return {};`, which makes the RecordEvent of its type: its default argument is the name of the function
// that returns.
#pragma once

#define RecordEvent UpstreamRecordEvent
#include_next <pto/common/event.hpp>
#undef RecordEvent

#include <ptogen/calls.hpp>

namespace pto {

struct RecordEvent : UpstreamRecordEvent {
    RecordEvent(const char* instruction = __builtin_FUNCTION()) { ptogen::Calls::Instance().Made(instruction); }
};

} // namespace pto
