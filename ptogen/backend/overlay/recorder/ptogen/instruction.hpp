// SPDX-License-Identifier: Apache-2.0
// What stands in the place of each public instruction: it records its arguments, waits for the events among them and calls upstream with the rest.
#pragma once

#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <ptogen/event.hpp>
#include <ptogen/recorder.hpp>
#include <pto/cpu/NPUMemoryModel.hpp>

namespace ptogen {

template <typename T>
const char* DtypeName()
{
    using U = std::remove_cv_t<T>;
    if constexpr (std::is_same_v<U, float>) {
        return "float32";
    } else if constexpr (std::is_same_v<U, half>) {
        return "float16";
    } else if constexpr (std::is_same_v<U, bfloat16_t>) {
        return "bfloat16";
    } else if constexpr (std::is_integral_v<U> && std::is_unsigned_v<U>) {
        return sizeof(U) == 1 ? "uint8" : sizeof(U) == 2 ? "uint16" : sizeof(U) == 4 ? "uint32" : "uint64";
    } else if constexpr (std::is_integral_v<U>) {
        return sizeof(U) == 1 ? "int8" : sizeof(U) == 2 ? "int16" : sizeof(U) == 4 ? "int32" : "int64";
    } else {
        return typeid(U).name();
    }
}

inline void Put(std::string& text, const char* key, long long value)
{
    text += ",\"";
    text += key;
    text += "\":" + std::to_string(value);
}

// Address of a tile in its own memory, -1 where it was never assigned, -2 where it lies outside.
inline long long OffsetIn(const void* pointer)
{
    auto& memory = pto::NPUMemoryModel::Instance();
    if (pointer == nullptr) {
        return -1;
    }
    if (!memory.IsInitialized() || !memory.ContainsAddress(reinterpret_cast<std::uintptr_t>(pointer))) {
        return -2;
    }
    return static_cast<long long>(memory.GetNPUAddr(static_cast<const char*>(pointer)));
}

// Whether a word of the valid region of a row-major tile still holds what memory holds before anything is written.
template <typename Tile>
bool IsFresh(Tile& tile)
{
    using Element = typename Tile::DType;
    const auto* row = reinterpret_cast<const unsigned char*>(tile.data());
    const auto length = static_cast<std::size_t>(tile.GetValidCol()) * sizeof(Element);
    unsigned char poison[8];
    std::memset(poison, kPoison, sizeof(poison));
    for (int count = tile.GetValidRow(); row != nullptr && count > 0; --count, row += Tile::Cols * sizeof(Element)) {
        for (std::size_t at = 0; at + sizeof(poison) <= length; at += sizeof(poison)) {
            if (std::memcmp(row + at, poison, sizeof(poison)) == 0) {
                return true;
            }
        }
    }
    return false;
}

template <typename T>
std::string Describe(T& value)
{
    using U = std::remove_cvref_t<T>;
    std::string text;
    if constexpr (pto::is_tile_data_v<U>) {
        using Element = typename U::DType;
        text = "{\"k\":\"tile\",\"d\":\"";
        text += DtypeName<Element>();
        text += "\"";
        Put(text, "s", sizeof(Element));
        Put(text, "loc", static_cast<int>(U::Loc));
        Put(text, "at", OffsetIn(static_cast<const void*>(value.data())));
        Put(text, "r", U::Rows);
        Put(text, "c", U::Cols);
        Put(text, "vr", value.GetValidRow());
        Put(text, "vc", value.GetValidCol());
        Put(text, "row", U::BFractal == pto::BLayout::RowMajor);
        Put(text, "box", U::SFractal != pto::SLayout::NoneBox);
        Put(text, "pad", U::PadVal != pto::PadValue::Null);
#ifndef PTOGEN_NPU
        // A kernel of the simulator itself may fill tiles by plain C++, which is not recorded.
        Put(text, "fresh", OffsetIn(static_cast<const void*>(value.data())) >= 0 && IsFresh(value));
#endif
        Put(text, "id", static_cast<long long>(reinterpret_cast<std::uintptr_t>(&value)));
    } else if constexpr (pto::is_conv_tile_v<U>) {
        // As one row that may be touched: its dimensions are not followed. bufferSize counts elements in some kernels and bytes in others.
        using Element = typename U::DType;
        text = "{\"k\":\"tile\",\"d\":\"";
        text += DtypeName<Element>();
        text += "\"";
        long long count = 1;
        for (int at = 0; at < U::totalDimCount; ++at) {
            count *= value.GetShape(at);
        }
        Put(text, "s", sizeof(Element));
        Put(text, "loc", static_cast<int>(U::Loc));
        Put(text, "at", OffsetIn(static_cast<const void*>(value.data())));
        Put(text, "r", 1);
        Put(text, "c", count);
        Put(text, "vr", 1);
        Put(text, "vc", count);
        Put(text, "row", 1);
        Put(text, "box", 1);
        Put(text, "lay", static_cast<int>(U::layout));
        Put(text, "id", static_cast<long long>(reinterpret_cast<std::uintptr_t>(&value)));
    } else if constexpr (pto::is_global_data_v<U>) {
        using Element = std::remove_cv_t<std::remove_reference_t<decltype(*value.data())>>;
        text = "{\"k\":\"gm\",\"d\":\"";
        text += DtypeName<Element>();
        text += "\"";
        Put(text, "s", sizeof(Element));
        Put(text, "at", static_cast<long long>(reinterpret_cast<std::uintptr_t>(value.data())));
        Put(text, "lay", static_cast<int>(U::layout));
        text += ",\"sh\":[";
        for (int at = 0; at < 5; ++at) {
            text += (at == 0 ? "" : ",") + std::to_string(static_cast<long long>(value.GetShape(at)));
        }
        text += "],\"st\":[";
        for (int at = 0; at < 5; ++at) {
            text += (at == 0 ? "" : ",") + std::to_string(static_cast<long long>(value.GetStride(at)));
        }
        text += "]";
    } else if constexpr (std::is_enum_v<U>) {
        text = "{\"k\":\"num\"";
        Put(text, "v", static_cast<long long>(value));
    } else if constexpr (std::is_integral_v<U>) {
        text = "{\"k\":\"num\"";
        Put(text, "v", static_cast<long long>(value));
    } else if constexpr (std::is_arithmetic_v<U> || std::is_same_v<U, half>) {
        text = "{\"k\":\"real\"";
    } else if constexpr (std::is_pointer_v<U>) {
        text = "{\"k\":\"pointer\"";
        Put(text, "at", static_cast<long long>(reinterpret_cast<std::uintptr_t>(value)));
    } else {
        text = "{\"k\":\"other\"";
        Put(text, "bytes", sizeof(U));
    }
    return text + "}";
}

template <typename T>
void Append(std::string& text, T& value)
{
    if constexpr (!kIsEvent<T>) {
        if (!text.empty()) {
            text += ",";
        }
        text += Describe(value);
    }
}

template <typename T>
void WaitIfEvent(T& value, const void* from)
{
    if constexpr (kIsEvent<T>) {
        value.WaitFrom(from);
    }
}

// The arguments that are no events, as references.
template <typename T>
auto Kept(T&& value)
{
    if constexpr (kIsEvent<T>) {
        return std::tuple<>();
    } else {
        return std::tuple<T&&>(std::forward<T>(value));
    }
}

// Records the step of `name`, given the values among its explicit template arguments, and calls upstream.
template <typename Call, typename... Arguments>
decltype(auto) Instruction(const char* name, const std::string& values, const void* from, Call&& call, Arguments&&... arguments)
{
    if (Recorder::Depth() == 0) {
        (WaitIfEvent(arguments, from), ...);
        std::string described;
        (Append(described, arguments), ...);
        Recorder::Instance().Step(from, std::string("\"t\":\"op\",\"n\":\"") + name + "\",\"v\":[" + values + "],\"a\":[" + described + "]");
    }
    Upstream inside;
    // Most instructions take no event, and tuples take the compiler long.
    if constexpr ((!kIsEvent<Arguments> && ...)) {
        return call(std::forward<Arguments>(arguments)...);
    } else {
        return std::apply(std::forward<Call>(call), std::tuple_cat(Kept(std::forward<Arguments>(arguments))...));
    }
}

// What an instruction is where upstream cannot compute it: no value, and an event to wait for.
struct Nothing {
    template <typename... Arguments>
    pto::RecordEvent operator()(Arguments&&...) const
    {
        return {};
    }
};

struct Reshape {
    template <typename To, typename From>
    pto::RecordEvent operator()(To& to, From& from) const
    {
        pto::TASSIGN_IMPL(to, reinterpret_cast<std::uintptr_t>(from.data()));
        return {};
    }
};

template <auto... Values>
std::string ListValues()
{
    std::string text;
    const auto one = [&text](auto value) {
        text += text.empty() ? "" : ",";
        if constexpr (std::is_integral_v<decltype(value)> || std::is_enum_v<decltype(value)>) {
            text += std::to_string(static_cast<long long>(value));
        } else {
            text += "null";
        }
    };
    (one(Values), ...);
    return text;
}

} // namespace ptogen

// PTOGEN_RECORD_ONLY is for kernels that the simulator does not compile although the NPU does: then only what binds addresses is called.
#define PTOGEN_UPSTREAM(RENAMED, ...)                                                                                  \
    [](auto&&... ptogen_arguments) -> decltype(auto) {                                                                 \
        return RENAMED __VA_ARGS__(std::forward<decltype(ptogen_arguments)>(ptogen_arguments)...);                     \
    }
#define PTOGEN_NOTHING(RENAMED, ...) ::ptogen::Nothing{}

#define PTOGEN_CALL(NAME, BODY, VALUES)                                                                                \
    ::ptogen::Instruction(#NAME, VALUES, __builtin_return_address(0), BODY, std::forward<Args>(args)...)

// Every way in which kernels spell explicit template arguments: none, types, values, types before values, values before types, and both.
#define PTOGEN_TEMPLATE __attribute__((noinline)) inline decltype(auto)

#define PTOGEN_FORMS(NAME, RENAMED, HOW)                                                                              \
    template <typename... Args>                                                                                        \
    PTOGEN_TEMPLATE NAME(Args&&... args)                                                                               \
    {                                                                                                                  \
        return PTOGEN_CALL(NAME, PTOGEN_LIST(HOW(RENAMED, )), std::string()); \
    }                                                                                                                  \
    template <typename T0, typename... Ts, typename... Args>                                                           \
    PTOGEN_TEMPLATE NAME(Args&&... args)                                                                               \
    {                                                                                                                  \
        return PTOGEN_CALL(NAME, PTOGEN_LIST(HOW(RENAMED, <T0, Ts...>)), std::string()); \
    }                                                                                                                  \
    template <auto V0, auto... Vs, typename... Args>                                                                   \
    PTOGEN_TEMPLATE NAME(Args&&... args)                                                                               \
    {                                                                                                                  \
        return PTOGEN_CALL(NAME, PTOGEN_LIST(HOW(RENAMED, <V0, Vs...>)), (::ptogen::ListValues<V0, Vs...>())); \
    }                                                                                                                  \
    template <auto V0, typename T0, typename... Ts, typename... Args>                                                  \
    PTOGEN_TEMPLATE NAME(Args&&... args)                                                                               \
    {                                                                                                                  \
        return PTOGEN_CALL(NAME, PTOGEN_LIST(HOW(RENAMED, <V0, T0, Ts...>)), (::ptogen::ListValues<V0>())); \
    }                                                                                                                  \
    PTOGEN_TYPES_VALUES(NAME, RENAMED, HOW, PTOGEN_LIST(typename T0), PTOGEN_LIST(T0))                                      \
    PTOGEN_TYPES_VALUES(NAME, RENAMED, HOW, PTOGEN_LIST(typename T0, typename T1), PTOGEN_LIST(T0, T1))                     \
    PTOGEN_TYPES_VALUES(NAME, RENAMED, HOW, PTOGEN_LIST(typename T0, typename T1, typename T2), PTOGEN_LIST(T0, T1, T2))    \
    PTOGEN_TYPES_VALUES(                                                                                               \
        NAME, RENAMED, HOW, PTOGEN_LIST(typename T0, typename T1, typename T2, typename T3), PTOGEN_LIST(T0, T1, T2, T3))   \
    PTOGEN_TYPES_VALUES(                                                                                               \
        NAME, RENAMED, HOW, PTOGEN_LIST(typename T0, typename T1, typename T2, typename T3, typename T4),                   \
        PTOGEN_LIST(T0, T1, T2, T3, T4))                                                                               \
    PTOGEN_TYPES_VALUES(                                                                                               \
        NAME, RENAMED, HOW, PTOGEN_LIST(typename T0, typename T1, typename T2, typename T3, typename T4, typename T5),      \
        PTOGEN_LIST(T0, T1, T2, T3, T4, T5))

#define PTOGEN_LIST(...) __VA_ARGS__
#define PTOGEN_TYPES_VALUES(NAME, RENAMED, HOW, PARAMETERS, TYPES)                                                          \
    template <PARAMETERS, auto V0, auto... Vs, typename... Args>                                                       \
    PTOGEN_TEMPLATE NAME(Args&&... args)                                                                               \
    {                                                                                                                  \
        return PTOGEN_CALL(NAME, PTOGEN_LIST(HOW(RENAMED, <TYPES, V0, Vs...>)), (::ptogen::ListValues<V0, Vs...>())); \
    }                                                                                                                  \
    template <auto P0, PARAMETERS, auto V0, auto... Vs, typename... Args>                                              \
    PTOGEN_TEMPLATE NAME(Args&&... args)                                                                               \
    {                                                                                                                  \
        return PTOGEN_CALL(NAME, PTOGEN_LIST(HOW(RENAMED, <P0, TYPES, V0, Vs...>)), (::ptogen::ListValues<P0, V0, Vs...>())); \
    }

// Instructions that say where a tile lies are called in any case, TRESHAPE in words of our own: upstream's own refuses some element types.
#define PTOGEN_BINDING(NAME, RENAMED) PTOGEN_FORMS(NAME, RENAMED, PTOGEN_UPSTREAM)
#ifdef PTOGEN_RECORD_ONLY
#define PTOGEN_RESHAPING(RENAMED, ...) ::ptogen::Reshape{}
#define PTOGEN_RESHAPE(NAME, RENAMED) PTOGEN_FORMS(NAME, RENAMED, PTOGEN_RESHAPING)
#define PTOGEN_INSTRUCTION(NAME, RENAMED) PTOGEN_FORMS(NAME, RENAMED, PTOGEN_NOTHING)
#else
#define PTOGEN_RESHAPE PTOGEN_BINDING
#define PTOGEN_INSTRUCTION(NAME, RENAMED) PTOGEN_FORMS(NAME, RENAMED, PTOGEN_UPSTREAM)
#endif
