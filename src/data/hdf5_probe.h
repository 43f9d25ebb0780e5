// Reading in a child process first. libhdf5 (1.10.8) crashes on some damaged files, and a crash cannot be caught; in a
// child it is an Error here.
#pragma once

#include <functional>
#include <string>

namespace bdnn::hdf5 {

// Off at first: a library must not fork in a program that it does not know. bdnn's own program turns it on.
void read_in_a_child_first(bool on);

// If it is on, calls read() in a child process with a bound on its time, and raises Error if a signal
// ends the child or it exits by itself. Exceptions there are left for the caller to meet.
void probe(const std::string& path, const std::function<void()>& read);

}  // namespace bdnn::hdf5
