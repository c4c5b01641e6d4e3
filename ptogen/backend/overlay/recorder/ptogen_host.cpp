// SPDX-License-Identifier: Apache-2.0
// Linked into every recorded program: a line where a test starts and where it ends.
#include <cstdio>
#include <string>

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

    void OnTestEnd(const testing::TestInfo& test) override
    {
        ptogen::Recorder::Instance().TestEnd(test.result()->Failed(), Exception(*test.result()));
    }

    // GoogleTest makes a failure without a place of an exception that a test lets out.
    static std::string Exception(const testing::TestResult& result)
    {
        for (int number = 0; number < result.total_part_count(); ++number) {
            const testing::TestPartResult& part = result.GetTestPartResult(number);
            const std::string text = part.summary();
            if (part.file_name() == nullptr && text.find("C++ exception") < sizeof("Unknown ")) {
                return Escaped(text);
            }
        }
        return "";
    }

    // As the inside of a JSON string.
    static std::string Escaped(const std::string& text)
    {
        std::string made;
        for (char sign : text) {
            if (sign == '"' || sign == '\\') {
                made += '\\';
                made += sign;
            } else if (static_cast<unsigned char>(sign) < 0x20) {
                char code[8];
                std::snprintf(code, sizeof(code), "\\u%04x", sign);
                made += code;
            } else {
                made += sign;
            }
        }
        return made;
    }
};

const bool kIsListening = [] {
    testing::UnitTest::GetInstance()->listeners().Append(new EachTest);
    return true;
}();
} // namespace
