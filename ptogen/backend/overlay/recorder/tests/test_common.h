// SPDX-License-Identifier: Apache-2.0
// For system tests without pto-isa's tests/common at hand: what their host programs call. Results are not compared: the recording is what counts.
#pragma once

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <pto/pto-inst.hpp>

namespace PtoTestCommon {

inline bool ReadFile(const std::string& path, std::size_t& size, void* buffer, std::size_t room)
{
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return false;
    }
    file.read(static_cast<char*>(buffer), static_cast<std::streamsize>(room));
    size = static_cast<std::size_t>(file.gcount());
    return true;
}

inline bool WriteFile(const std::string& path, const void* buffer, std::size_t size)
{
    std::ofstream file(path, std::ios::binary);
    return static_cast<bool>(file.write(static_cast<const char*>(buffer), static_cast<std::streamsize>(size)));
}

template <typename... Arguments>
bool ResultCmp(Arguments&&...)
{
    return true;
}

template <typename... Arguments>
bool ResultCmpExact(Arguments&&...)
{
    return true;
}

} // namespace PtoTestCommon
