// SPDX-License-Identifier: Apache-2.0
// Stands before pto-isa's header of the same name: the public functions get a suffix, and functions of their names record the call and pass it on.
//
// The three files ptogen_names_*.inc are made for the headers at hand from the names that pto_instr.hpp declares (ptogen/sanitize/recorder.py).
#pragma once

// What pto_instr.hpp includes itself comes first, so that nothing but its own text is renamed.
#include <pto/common/debug.h>
#include <pto/common/event.hpp>
#include <pto/common/fifo.hpp>
#include <pto/common/tassign_check.hpp>

#include <ptogen_names_begin.inc>

#include_next <pto/common/pto_instr.hpp>

#include <ptogen_names_end.inc>

#include <ptogen/event.hpp>
#include <ptogen/instruction.hpp>

namespace pto {
#include <ptogen_names_wrap.inc>
} // namespace pto
