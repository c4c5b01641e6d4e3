// SPDX-License-Identifier: Apache-2.0
// Calls of the functions of a single kernel file; the text of ptogen/sanitize/driver.py stands behind the kernel and includes this.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstdio>
#include <type_traits>

#include <ptogen/launch.hpp>
#include <ptogen/runtime.hpp>

namespace ptogen {

// A tensor in GM. It becomes whatever pointer the function takes: many system tests pass their buffers as uint64_t* or void*.
template <typename T>
struct Tensor {
    T* at = nullptr;

    // Integers stay below the length of a row, so that they are places in it where a kernel takes them for indices.
    Tensor(unsigned long long count, unsigned long long row, std::uint64_t seed, const char* file)
    {
        void* memory = nullptr;
        Allocate(&memory, count * sizeof(T));
        at = static_cast<T*>(memory);
        if (file != nullptr) {
            if (std::FILE* data = std::fopen(file, "rb"); data != nullptr) {
                (void)!std::fread(at, sizeof(T), count, data);
                std::fclose(data);
            }
            return;
        }
        for (unsigned long long number = 0; number < count; ++number) {
            // SplitMix64 of a counter.
            std::uint64_t word = seed * 0xD1342543DE82EF95u + (number + 1) * 0x9E3779B97F4A7C15u;
            word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
            word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
            word ^= word >> 31;
            if constexpr (std::is_integral_v<T>) {
                at[number] = static_cast<T>(word % (row < 127 ? row : 127));
            } else {
                at[number] = static_cast<T>(static_cast<float>(static_cast<double>(word >> 11) / 4503599627370496.0 - 1.0));
            }
        }
    }

    template <typename U>
    operator U*() const
    {
        return reinterpret_cast<U*>(at);
    }
};

template <typename T>
struct PlainOf {
    using Type = T;
};
template <typename T>
struct PlainOf<Tensor<T>> {
    using Type = T*;
};
template <typename T>
using Plain = typename PlainOf<T>::Type;

// By the types that were given, so that template arguments can be deduced; else by any conversion of a pointer; each with a stream, or without.
template <typename Function, typename... Arguments>
inline constexpr int kForm = std::invocable<Function, Plain<Arguments>...>        ? 1
                             : std::invocable<Function, Arguments...>             ? 2
                             : std::invocable<Function, Plain<Arguments>..., void*> ? 3
                             : std::invocable<Function, Arguments..., void*>      ? 4
                                                                                  : 0;
template <typename Function, typename... Arguments>
inline constexpr bool kFits = kForm<Function, Arguments...> != 0;

template <typename Function, typename... Arguments>
void Drive(const char* label, Function function, Arguments... arguments)
{
    constexpr int form = kForm<Function, Arguments...>;
    Launch(
        label, 1,
        [&](auto...) {
            if constexpr (form == 1) {
                function(static_cast<Plain<Arguments>>(arguments)...);
            } else if constexpr (form == 2) {
                function(Arguments(arguments)...);
            } else if constexpr (form == 3) {
                function(static_cast<Plain<Arguments>>(arguments)..., static_cast<void*>(nullptr));
            } else if constexpr (form == 4) {
                function(Arguments(arguments)..., static_cast<void*>(nullptr));
            }
        },
        static_cast<Plain<Arguments>>(arguments)...);
}

} // namespace ptogen
