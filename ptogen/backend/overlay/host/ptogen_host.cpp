// SPDX-License-Identifier: Apache-2.0
// Linked into every test program: each test starts on memory that nobody has written and ends with a line of counts.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <pto/pto-inst.hpp>

#if defined(PTOGEN_PRISTINE)

#ifdef PTO_NPU_MEMORY_MODEL_HPP
// The simulator's UB has 192 KiB unless it is told that the NPU is an A5 (pto/cpu/NPUMemoryModel.hpp).
static const bool kArchIsSet = [] {
    const char* bytes = std::getenv("PTOGEN_UB_BYTES");
    if (bytes != nullptr && std::strtoull(bytes, nullptr, 10) > 192 * 1024) {
        pto::NPUMemoryModel::SetDefaultArch(pto::NPUArch::A5);
    }
    return true;
}();
#endif

#else

#include <ptogen/calls.hpp>

namespace {
class EachTest : public testing::EmptyTestEventListener {
    void OnTestStart(const testing::TestInfo&) override
    {
// The first headers have no memory: each tile of theirs has its own.
#ifdef PTO_NPU_MEMORY_MODEL_HPP
        pto::NPUMemoryModel::Instance().Clear();
#endif
    }
    void OnTestEnd(const testing::TestInfo& test) override { ptogen::Calls::Instance().Write(test.name()); }
};

const bool kIsListening = [] {
    testing::UnitTest::GetInstance()->listeners().Append(new EachTest);
    return true;
}();
} // namespace

#endif
