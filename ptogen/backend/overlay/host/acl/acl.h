// SPDX-License-Identifier: Apache-2.0
// The CANN runtime header of a host program, on the CPU simulator: pto-isa's own host stand-ins (pto/common/cpu_stub.hpp) serve for it.
#pragma once

#if !defined(__CPU_SIM)
#error "this acl/acl.h serves the CPU simulator only (-D__CPU_SIM)"
#endif
#include <pto/pto-inst.hpp>
