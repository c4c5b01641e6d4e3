// SPDX-License-Identifier: Apache-2.0
// The CANN runtime header of a host program: ptogen/runtime.hpp stands in for it.
#pragma once

#include <pto/pto-inst.hpp>
