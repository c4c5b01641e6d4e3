// SPDX-License-Identifier: Apache-2.0
// Which simulator functions computed: pto-isa's own, or ptogen's in the place of one with a defect.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace ptogen {

class Calls {
public:
    static Calls& Instance()
    {
        static Calls calls;
        return calls;
    }

    void Upstream(const char* instruction) { Add(instruction, ""); }
    void Corrected(const char* instruction, const char* defect) { Add(instruction, defect); }

    // Appends one JSON line to the file that PTOGEN_COUNTS names, and starts again from 0; nothing where there were no calls.
    void Write(const char* test)
    {
        std::scoped_lock lock(mutex_);
        const char* path = std::getenv("PTOGEN_COUNTS");
        std::FILE* file = path == nullptr || *path == '\0' || counts_.empty() ? nullptr : std::fopen(path, "a");
        if (file != nullptr) {
            std::fprintf(file, "{\"test\": \"%s\", \"calls\": [", test);
            const char* comma = "";
            for (const auto& [key, count] : counts_) {
                std::fprintf(
                    file, "%s{\"instruction\": \"%s\", \"defect\": %s%s%s, \"count\": %llu}", comma, key.first.c_str(),
                    key.second.empty() ? "" : "\"", key.second.empty() ? "null" : key.second.c_str(), key.second.empty() ? "" : "\"", count);
                comma = ", ";
            }
            std::fprintf(file, "]}\n");
            std::fclose(file);
        }
        counts_.clear();
    }

    // What no test has claimed, such as the calls of a program without GoogleTest.
    ~Calls() { Write(""); }

private:
    void Add(const char* instruction, const char* defect)
    {
        std::scoped_lock lock(mutex_);
        ++counts_[{instruction, defect}];
    }

    std::mutex mutex_;
    std::map<std::pair<std::string, std::string>, unsigned long long> counts_;
};

} // namespace ptogen
