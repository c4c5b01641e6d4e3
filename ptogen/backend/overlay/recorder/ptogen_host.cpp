// SPDX-License-Identifier: Apache-2.0
// Linked into every recorded program: a line where a test starts and where it ends.
#include <gtest/gtest.h>
#include <pto/pto-inst.hpp>

namespace {
class EachTest : public testing::EmptyTestEventListener {
    void OnTestStart(const testing::TestInfo& test) override
    {
        pto::NPUMemoryModel::Instance().EnsureInitialized();
        pto::NPUMemoryModel::Instance().Clear();
        ptogen::Recorder::Instance().Test(test.test_suite_name(), test.name());
    }
    void OnTestEnd(const testing::TestInfo& test) override { ptogen::Recorder::Instance().TestEnd(test.result()->Failed()); }
};

const bool kIsListening = [] {
    testing::UnitTest::GetInstance()->listeners().Append(new EachTest);
    return true;
}();
} // namespace
