// Reading in a child process first. libhdf5 (1.10.8) crashes on some damaged files, and a crash cannot be caught; in a
// child it is an Error here.
#pragma once

#include <functional>
#include <string>

namespace bdnn::hdf5 {

// Off by default: a library must not fork in an arbitrary program. The program bdnn turns it on.
void read_in_a_child_first(bool on);

// If it is on, calls read() in a child process with a bound on its time, and raises Error if a signal
// ends the child or it exits by itself. Exceptions there are ignored; the caller will get the same.
void probe(const std::string& path, const std::function<void()>& read);

}  // namespace bdnn::hdf5
