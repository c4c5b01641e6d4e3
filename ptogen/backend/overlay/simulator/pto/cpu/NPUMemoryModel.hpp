// SPDX-License-Identifier: Apache-2.0
// The on-chip memories of a simulated core, in place of pto-isa's header of the same name and with all that its users call.
//
// Other than upstream: UB has exactly PTOGEN_UB_BYTES bytes (the macro, or else the environment, or else the real size of the architecture; no
// memory has fewer than PTOGEN_LEAST_BYTES of the environment, for programs that are recorded and not checked here);
// memory holds a poison pattern until it is written; an address is an offset, and a host pointer is one only inside these memories; what lies
// past the end ends the program with a message, with NDEBUG as without.
#ifndef PTO_NPU_MEMORY_MODEL_HPP
#define PTO_NPU_MEMORY_MODEL_HPP

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include <pto/common/pto_tile.hpp>

#include <ptogen/region.hpp>

namespace pto {

enum class NPUArch { A2A3, A5 };

namespace ptogen_detail {
// TileType::ScaleLeft and ScaleRight are newer than the rest.
template <typename Type, Type Loc>
constexpr int ScaleSide()
{
    if constexpr (requires { Type::ScaleLeft; }) {
        return Loc == Type::ScaleLeft ? 1 : Loc == Type::ScaleRight ? 2 : 0;
    } else {
        return 0;
    }
}

template <typename TileDef>
constexpr std::size_t Bytes()
{
    if constexpr (requires { TileDef::Numel; }) {
        return static_cast<std::size_t>(TileDef::Numel) * sizeof(typename TileDef::DType);
    } else {
        return static_cast<std::size_t>(TileDef::bufferSize);
    }
}

// A capacity from the environment, or `fallback`; a value that is no positive number is an error and not ignored.
inline std::size_t FromEnvironment(const char* name, std::size_t fallback)
{
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') {
        return fallback;
    }
    char* end = nullptr;
    const unsigned long long number = std::strtoull(value, &end, 10);
    if (*end != '\0' || number == 0 || *value == '-') {
        char text[160];
        std::snprintf(text, sizeof(text), "%s is not a number of bytes: %.64s", name, value);
        ptogen::Fail(text);
    }
    return static_cast<std::size_t>(number);
}
} // namespace ptogen_detail

class NPUMemoryModel {
    enum MemoryRegion { REG, UB, L1, L0A, L0B, L0C, L0A_MX, L0B_MX, _MAX_REGIONS };
    static constexpr const char* kNames[] = {"REG", "UB", "L1", "L0A", "L0B", "L0C", "L0A_MX", "L0B_MX"};

public:
    using ArchMemorySizes = std::size_t[MemoryRegion::_MAX_REGIONS];

    // One a thread: the cores of an NPU share none of these memories.
    static NPUMemoryModel& Instance()
    {
        thread_local NPUMemoryModel instance;
        return instance;
    }

    static void SetDefaultArch(NPUArch arch) { defaultArch_ = arch; }

    void Initialize(NPUArch arch)
    {
        constexpr std::size_t kKiB = 1024;
        const bool a5 = arch == NPUArch::A5;
        sizes_[REG] = 16 * sizeof(std::uint64_t);
#if defined(PTOGEN_UB_BYTES)
        sizes_[UB] = PTOGEN_UB_BYTES;
#else
        sizes_[UB] = ptogen_detail::FromEnvironment("PTOGEN_UB_BYTES", (a5 ? 256 : 192) * kKiB);
#endif
        sizes_[L1] = 512 * kKiB;
        sizes_[L0A] = sizes_[L0B] = 64 * kKiB;
        sizes_[L0C] = (a5 ? 256 : 128) * kKiB;
        sizes_[L0A_MX] = sizes_[L0B_MX] = 4 * kKiB;
        for (int region = 0; region < _MAX_REGIONS; ++region) {
            sizes_[region] = std::max(sizes_[region], ptogen_detail::FromEnvironment("PTOGEN_LEAST_BYTES", 1));
            regions_[region].Reserve(kNames[region], sizes_[region]);
        }
        arch_ = arch;
        initialized_ = true;
    }

    void EnsureInitialized()
    {
        if (!initialized_) {
            Initialize(defaultArch_);
        }
    }

    // Offset of a host pointer in the memory that it points into.
    template <typename T>
    std::size_t GetNPUAddr(T* pointer)
    {
        const auto address = reinterpret_cast<std::uintptr_t>(pointer);
        for (const auto& region : regions_) {
            if (region.Holds(address)) {
                return address - reinterpret_cast<std::uintptr_t>(region.data());
            }
        }
        throw std::invalid_argument("ptogen: a pointer that lies in no on-chip memory has no NPU address");
    }

    // Host pointer of the tile at a byte offset of its memory.
    template <typename TileDef>
    typename TileDef::DType* GetPointer(std::size_t byteOffset)
    {
        EnsureInitialized();
        constexpr MemoryRegion region = RegionOf<TileDef>();
        return Checked<TileDef>(region, byteOffset, false);
    }

    // Host pointer of the tile that TASSIGN gives an address: an offset, or a host pointer into the tile's own memory (a view of another tile).
    template <typename TileDef>
    typename TileDef::DType* ResolveAssignedAddress(std::uintptr_t addr)
    {
        EnsureInitialized();
        constexpr MemoryRegion region = RegionOf<TileDef>();
        if (regions_[region].Holds(addr)) {
            return Checked<TileDef>(region, addr - reinterpret_cast<std::uintptr_t>(regions_[region].data()), false);
        }
        return Checked<TileDef>(region, static_cast<std::size_t>(addr), true);
    }

    char* GetREGBase() { return Base(REG); }
    char* GetUBBase() { return Base(UB); }
    char* GetL1Base() { return Base(L1); }
    char* GetL0ABase() { return Base(L0A); }
    char* GetL0BBase() { return Base(L0B); }
    char* GetL0CBase() { return Base(L0C); }
    const ArchMemorySizes& GetSizes() const { return sizes_; }
    NPUArch GetArch() const { return arch_; }
    bool IsInitialized() const { return initialized_; }

    bool ContainsAddress(std::uintptr_t rawAddr) const
    {
        return std::any_of(
            std::begin(regions_), std::end(regions_), [rawAddr](const auto& region) { return region.Holds(rawAddr); });
    }

    // As if nothing had been written.
    void Clear()
    {
        if (initialized_) {
            for (auto& region : regions_) {
                region.Poison();
            }
        }
    }

    void Reset()
    {
        for (auto& region : regions_) {
            region.Release();
        }
        initialized_ = false;
    }

private:
    template <typename TileDef>
    static constexpr MemoryRegion RegionOf()
    {
        constexpr int side = ptogen_detail::ScaleSide<TileType, TileDef::Loc>();
        switch (TileDef::Loc) {
            case TileType::Mat:
                return L1;
            case TileType::Left:
                return L0A;
            case TileType::Right:
                return L0B;
            case TileType::Acc:
                return L0C;
            default:
                return side == 1 ? L0A_MX : side == 2 ? L0B_MX : UB;
        }
    }

    template <typename TileDef>
    typename TileDef::DType* Checked(MemoryRegion region, std::size_t offset, bool rawAddress)
    {
        constexpr std::size_t bytes = ptogen_detail::Bytes<TileDef>();
        if (offset > sizes_[region] || bytes > sizes_[region] - offset) {
            char text[240];
            std::snprintf(
                text, sizeof(text), "TASSIGN puts a tile of %zu B at %s 0x%zX: it ends at 0x%zX, past the end of %s (0x%zX, %zu B)%s", bytes,
                kNames[region], offset, offset + bytes, kNames[region], sizes_[region], sizes_[region],
                rawAddress && offset > (std::size_t{1} << 32) ? "; a host pointer outside the simulated memory is no address" : "");
            ptogen::Fail(text);
        }
        return reinterpret_cast<typename TileDef::DType*>(regions_[region].data() + offset);
    }

    char* Base(MemoryRegion region)
    {
        EnsureInitialized();
        return regions_[region].data();
    }

    NPUMemoryModel() = default;
    NPUMemoryModel(const NPUMemoryModel&) = delete;
    NPUMemoryModel& operator=(const NPUMemoryModel&) = delete;

    static inline NPUArch defaultArch_ = NPUArch::A2A3;

    ptogen::Region regions_[_MAX_REGIONS];
    ArchMemorySizes sizes_ = {};
    NPUArch arch_ = NPUArch::A2A3;
    bool initialized_ = false;
};

// Scale tiles are addressed in units of 16 bytes (TGETSCALEADDR).
constexpr uint32_t SHIFT_MX_ADDR = 4;
template <typename T>
uint64_t GetScaleAddr(T* dst)
{
    return NPUMemoryModel::Instance().GetNPUAddr(dst) >> SHIFT_MX_ADDR;
}

} // namespace pto

#endif // PTO_NPU_MEMORY_MODEL_HPP
