// SPDX-License-Identifier: Apache-2.0
// Stands before pto-isa's header of the same name: flags, barriers, block numbers and GM allocations are recorded.
#pragma once

// Upstream declares these as functions in some snapshots and as macros in others; both get out of the way.
#define set_flag ptogen_upstream_set_flag
#define wait_flag ptogen_upstream_wait_flag
#define pipe_barrier ptogen_upstream_pipe_barrier
#define get_block_num ptogen_upstream_get_block_num
#define aclInit ptogen_upstream_aclInit
#define aclFinalize ptogen_upstream_aclFinalize
#define aclrtSetDevice ptogen_upstream_aclrtSetDevice
#define aclrtResetDevice ptogen_upstream_aclrtResetDevice
#define aclrtCreateStream ptogen_upstream_aclrtCreateStream
#define aclrtDestroyStream ptogen_upstream_aclrtDestroyStream
#define aclrtSynchronizeStream ptogen_upstream_aclrtSynchronizeStream
#define aclrtMalloc ptogen_upstream_aclrtMalloc
#define aclrtMallocHost ptogen_upstream_aclrtMallocHost
#define aclrtFree ptogen_upstream_aclrtFree
#define aclrtFreeHost ptogen_upstream_aclrtFreeHost
#define aclrtMemcpy ptogen_upstream_aclrtMemcpy
#define aclrtMemset ptogen_upstream_aclrtMemset
#define ACL_MEM_MALLOC_HUGE_FIRST ptogen_upstream_ACL_MEM_MALLOC_HUGE_FIRST
#define ACL_MEMCPY_HOST_TO_DEVICE ptogen_upstream_ACL_MEMCPY_HOST_TO_DEVICE
#define ACL_MEMCPY_DEVICE_TO_HOST ptogen_upstream_ACL_MEMCPY_DEVICE_TO_HOST
#define ACL_MEMCPY_DEVICE_TO_DEVICE ptogen_upstream_ACL_MEMCPY_DEVICE_TO_DEVICE

#include_next <pto/common/cpu_stub.hpp>

#undef set_flag
#undef wait_flag
#undef pipe_barrier
#undef get_block_num
#undef aclInit
#undef aclFinalize
#undef aclrtSetDevice
#undef aclrtResetDevice
#undef aclrtCreateStream
#undef aclrtDestroyStream
#undef aclrtSynchronizeStream
#undef aclrtMalloc
#undef aclrtMallocHost
#undef aclrtFree
#undef aclrtFreeHost
#undef aclrtMemcpy
#undef aclrtMemset
#undef ACL_MEM_MALLOC_HUGE_FIRST
#undef ACL_MEMCPY_HOST_TO_DEVICE
#undef ACL_MEMCPY_DEVICE_TO_HOST
#undef ACL_MEMCPY_DEVICE_TO_DEVICE

#include <ptogen/recorder.hpp>
#include <ptogen/runtime.hpp>
