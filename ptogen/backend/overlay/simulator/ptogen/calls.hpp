// SPDX-License-Identifier: Apache-2.0
// Which simulator functions computed: pto-isa's own, or ptogen's in the place of one with a defect.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace ptogen {

class Calls {
public:
    static Calls& Instance()
    {
        static Calls calls;
        return calls;
    }

    // An instruction was called, whoever computes it. g++ puts template arguments behind the name of a function.
    void Made(std::string_view instruction)
    {
        std::scoped_lock lock(mutex_);
        ++made_[std::string(instruction.substr(0, instruction.find('<')))];
    }

    // A function of ptogen's computed it, because of a defect.
    void Corrected(const char* instruction, const char* defect)
    {
        std::scoped_lock lock(mutex_);
        ++corrected_[{instruction, defect}];
    }

    // Appends one JSON line to the file that PTOGEN_COUNTS names, and starts again from 0; nothing where there were no calls.
    void Write(const char* test)
    {
        std::scoped_lock lock(mutex_);
        const char* path = std::getenv("PTOGEN_COUNTS");
        std::FILE* file = path == nullptr || *path == '\0' || made_.empty() ? nullptr : std::fopen(path, "a");
        if (file != nullptr) {
            std::fprintf(file, "{\"test\": \"%s\", \"calls\": [", test);
            const char* comma = "";
            for (const auto& [key, count] : corrected_) {
                std::fprintf(
                    file, "%s{\"instruction\": \"%s\", \"defect\": \"%s\", \"count\": %llu}", comma, key.first.c_str(), key.second.c_str(),
                    count);
                made_[key.first] -= count;
                comma = ", ";
            }
            for (const auto& [instruction, count] : made_) {
                if (count != 0) {
                    std::fprintf(file, "%s{\"instruction\": \"%s\", \"defect\": null, \"count\": %llu}", comma, instruction.c_str(), count);
                    comma = ", ";
                }
            }
            std::fprintf(file, "]}\n");
            std::fclose(file);
        }
        made_.clear();
        corrected_.clear();
    }

    // What no test has claimed, such as the calls of a program without GoogleTest.
    ~Calls() { Write(""); }

private:
    std::mutex mutex_;
    std::map<std::string, unsigned long long> made_;
    std::map<std::pair<std::string, std::string>, unsigned long long> corrected_;
};

} // namespace ptogen
