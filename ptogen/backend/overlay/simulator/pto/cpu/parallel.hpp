// How the simulator's functions walk over rows and elements: one after the other. The threads that pto-isa's header of
// this name can start for large tiles change no result, are off in the pinned snapshot (parallel.hpp:25), and cost half
// of the time of compiling a suite, since std::thread is instantiated for every loop of every instruction's shape.

#ifndef PTO_CPU_PARALLEL_HPP
#define PTO_CPU_PARALLEL_HPP

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

// What stands before a loop that may be vectorised; at -O0 none is.
#define PTO_CPU_VECTORIZE_LOOP

namespace pto::cpu {

inline unsigned get_thread_count() noexcept { return 1; }

template <typename Function>
inline void parallel_for_1d(std::size_t begin, std::size_t end, std::size_t, Function function)
{
    for (; begin < end; ++begin) {
        function(begin);
    }
}

template <typename Function>
inline void parallel_for_rows(std::size_t rows, std::size_t, Function function)
{
    parallel_for_1d(0, rows, 0, function);
}

}  // namespace pto::cpu

#endif
