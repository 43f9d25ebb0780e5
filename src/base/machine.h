// The machine that the program runs on.
#pragma once

#include <cstdint>
#include <string>

namespace bdnn {

// "AMD EPYC 7763, 2 cores, Debian GNU/Linux 12", as far as the system reports them.
std::string machine_name();

// Bytes that could be allocated now without swapping, within the limit of this process's control group; 0 if unknown.
std::uint64_t available_memory();

// Now, as "2026-11-17T07:12:00Z".
std::string time_stamp();

}  // namespace bdnn
