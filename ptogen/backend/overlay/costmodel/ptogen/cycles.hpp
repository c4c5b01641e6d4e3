// SPDX-License-Identifier: Apache-2.0
// Stands before a kernel that is compiled with pto-isa's A2/A3 cost model: what the model lacks of the device compiler's
// words, and a reader of its trace.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#ifdef __PTO_AUTO__
// The device compiler's own words, which the model has no stand-ins for (pto/common/pto_tile.hpp:1167, 1454): an
// attribute that gives the bytes of a tile, and the first value of a tile that nobody has assigned.
#define tile_size(count)
#define __cce_tinit(data) (data)
#endif

#include <pto/pto-inst.hpp>
#include <pto/costmodel/trace.hpp>

// An NPU has eight event ids (EVENT_ID_MAX, pto/common/event.hpp); the model names the first only
// (pto/costmodel/common/qualifiers.hpp).
#define EVENT_ID1 (static_cast<event_t>(1))
#define EVENT_ID2 (static_cast<event_t>(2))
#define EVENT_ID3 (static_cast<event_t>(3))
#define EVENT_ID4 (static_cast<event_t>(4))
#define EVENT_ID5 (static_cast<event_t>(5))
#define EVENT_ID6 (static_cast<event_t>(6))
#define EVENT_ID7 (static_cast<event_t>(7))

namespace ptogen {

// Runs the launch functions of a kernel file and writes what the model's trace has of each, one JSON line a case.
class Cycles {
public:
    // The program's arguments: the file that gets the lines, and the number of the case to begin with.
    Cycles(int count, char** words) : file_(std::fopen(words[1], "a")), next_(count > 2 ? std::atol(words[2]) : 0)
    {
        if (file_ == nullptr) {
            std::perror(words[1]);
            std::exit(2);
        }
    }

    ~Cycles() { std::fclose(file_); }

    // The tensors are null pointers: the model counts and moves no data.
    void Case(const char* name, void (*launch)(const std::string& name, void* const* gm, void* stream))
    {
        if (next_-- > 0) {
            return;
        }
        pto::mocker::ResetTrace();
        const std::vector<void*> gm(kMostTensors, nullptr);
        launch(name, gm.data(), nullptr);
        std::vector<Sum> sums;
        for (const auto& record : pto::mocker::GetTrace().executed_pto) {
            Sum& sum = Of(sums, record.name);
            ++sum.calls;
            sum.cycles += record.total_cycles;
        }
        std::fprintf(file_, "{\"case\": \"%s\", \"instructions\": [", name);
        const char* comma = "";
        for (const Sum& sum : sums) {
            std::fprintf(file_, "%s[\"%s\", %llu, %llu]", comma, sum.name.c_str(), sum.calls, sum.cycles);
            comma = ", ";
        }
        std::fprintf(file_, "]}\n");
        std::fflush(file_);
    }

private:
    struct Sum {
        std::string name;
        unsigned long long calls;
        unsigned long long cycles;
    };

    // The instruction's entry; instructions stand in the order of their first calls.
    static Sum& Of(std::vector<Sum>& sums, const std::string& name)
    {
        for (Sum& sum : sums) {
            if (sum.name == name) {
                return sum;
            }
        }
        return sums.emplace_back(Sum{name, 0, 0});
    }

    static constexpr std::size_t kMostTensors = 64;

    std::FILE* file_;
    long next_;
};

} // namespace ptogen
