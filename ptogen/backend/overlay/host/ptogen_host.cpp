// SPDX-License-Identifier: Apache-2.0
// Linked into every test program: each test starts on memory that nobody has written and ends with a line of counts.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <pto/pto-inst.hpp>

#if defined(PTOGEN_PRISTINE)

// The simulator's UB has 192 KiB unless it is told that the NPU is an A5 (pto/cpu/NPUMemoryModel.hpp).
static const bool kArchIsSet = [] {
    const char* bytes = std::getenv("PTOGEN_UB_BYTES");
    if (bytes != nullptr && std::strtoull(bytes, nullptr, 10) > 192 * 1024) {
        pto::NPUMemoryModel::SetDefaultArch(pto::NPUArch::A5);
    }
    return true;
}();

#else

#include <ptogen/calls.hpp>

namespace {
class EachTest : public testing::EmptyTestEventListener {
    void OnTestStart(const testing::TestInfo&) override { pto::NPUMemoryModel::Instance().Clear(); }
    void OnTestEnd(const testing::TestInfo& test) override { ptogen::Calls::Instance().Write(test.name()); }
};

const bool kIsListening = [] {
    testing::UnitTest::GetInstance()->listeners().Append(new EachTest);
    return true;
}();
} // namespace

#endif
