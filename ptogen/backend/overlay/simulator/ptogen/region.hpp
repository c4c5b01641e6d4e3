// SPDX-License-Identifier: Apache-2.0
// One on-chip memory of a simulated core: bytes between two pages that nobody may touch.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <sys/mman.h>
#include <unistd.h>

namespace ptogen {

// What unwritten memory holds: no small number, no zero, no pattern that host programs are known to use.
inline constexpr unsigned char kPoison = 0xDB;

// Ends the program with one line on stderr, whether or not NDEBUG is defined.
[[noreturn]] inline void Fail(const char* message)
{
    std::fflush(stdout);
    std::fprintf(stderr, "ptogen: %s\n", message);
    std::fflush(stderr);
    std::abort();
}

// The guarded ranges of all threads, for the handler that names what was hit. Entries are only ever added; a released one has size 0.
struct Guarded {
    const char* name;
    std::uintptr_t start;
    std::uintptr_t end;
    std::size_t page;
};

class GuardTable {
public:
    static GuardTable& Instance()
    {
        static GuardTable table;
        return table;
    }

    // Returns the slot, or -1 where the table is full; the range is guarded then as well, only without a name.
    int Add(const char* name, std::uintptr_t start, std::size_t size, std::size_t page)
    {
        std::scoped_lock lock(mutex_);
        for (int slot = 0; slot < kSlots; ++slot) {
            if (slots_[slot].end == slots_[slot].start) {
                slots_[slot] = {name, start, start + size, page};
                return slot;
            }
        }
        return -1;
    }

    void Remove(int slot)
    {
        if (slot >= 0) {
            std::scoped_lock lock(mutex_);
            slots_[slot].end = slots_[slot].start;
        }
    }

private:
    static constexpr int kSlots = 1024;

    GuardTable()
    {
        struct sigaction action = {};
        action.sa_sigaction = &GuardTable::OnFault;
        action.sa_flags = SA_SIGINFO | SA_RESETHAND;
        sigemptyset(&action.sa_mask);
        sigaction(SIGSEGV, &action, nullptr);
        sigaction(SIGBUS, &action, nullptr);
    }

    static void OnFault(int, siginfo_t* info, void*)
    {
        const auto where = reinterpret_cast<std::uintptr_t>(info->si_addr);
        for (const Guarded& range : Instance().slots_) {
            if (range.start == range.end || where < range.start - range.page || where >= range.end + 2 * range.page) {
                continue;
            }
            char text[160];
            const bool past = where >= range.end;
            const auto distance = static_cast<unsigned long long>(past ? where - range.end : range.start - where);
            const int length = std::snprintf(
                text, sizeof(text), "ptogen: an instruction touched %s %llu B %s its %llu B\n", range.name, distance,
                past ? "past the end of" : "before the start of", static_cast<unsigned long long>(range.end - range.start));
            if (length > 0 && write(STDERR_FILENO, text, static_cast<std::size_t>(length)) < 0) {
                break;
            }
        }
        // The handler was reset: the instruction faults again and the program ends by the signal.
    }

    std::mutex mutex_;
    Guarded slots_[kSlots] = {};
};

// Not copied: tiles point into it.
class Region {
public:
    Region() = default;
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;
    ~Region() { Release(); }

    // `size` bytes, the last right before the guard; a size that is no multiple of 512 leaves up to 511 unguarded bytes between.
    void Reserve(const char* name, std::size_t size)
    {
        Release();
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const std::size_t whole = (size + page - 1) / page * page;
        mapped_ = whole + 3 * page;
        void* base = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base == MAP_FAILED || mprotect(static_cast<char*>(base) + page, whole, PROT_READ | PROT_WRITE) != 0) {
            Fail("the simulated memory cannot be reserved");
        }
        base_ = static_cast<char*>(base);
        data_ = base_ + page + (whole - size) / kAlign * kAlign;
        size_ = size;
        slot_ = GuardTable::Instance().Add(name, reinterpret_cast<std::uintptr_t>(data_), size, page);
        Poison();
    }

    void Poison() { std::memset(data_, kPoison, size_); }

    void Release()
    {
        if (base_ != nullptr) {
            GuardTable::Instance().Remove(slot_);
            munmap(base_, mapped_);
        }
        base_ = data_ = nullptr;
        size_ = mapped_ = 0;
    }

    char* data() const { return data_; }
    std::size_t size() const { return size_; }

    // Whether an address lies in it.
    bool Holds(std::uintptr_t address) const
    {
        const auto start = reinterpret_cast<std::uintptr_t>(data_);
        return address >= start && address < start + size_;
    }

private:
    static constexpr std::size_t kAlign = 512;

    char* base_ = nullptr;
    char* data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t mapped_ = 0;
    int slot_ = -1;
};

} // namespace ptogen
