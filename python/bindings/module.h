// The parts of the extension module bdnn._core, one source each.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace bdnn::python {

// The names of enumerators, which Python checks arguments against.
template <class Value, std::size_t count>
pybind11::tuple names_of(const Value (&values)[count]) {
  pybind11::tuple names(count);
  for (std::size_t i = 0; i < count; ++i) names[i] = std::string(name_of(values[i]));
  return names;
}

void add_models(pybind11::module_& module);      // models.cc: methods, training, encoding
void add_search(pybind11::module_& module);      // search.cc: indexes, filters, scans by score
void add_files(pybind11::module_& module);       // files.cc: vectors, labels and codes in files; datasets
void add_evaluation(pybind11::module_& module);  // evaluation.cc: true neighbours, metrics, protocols, diagnostics

}  // namespace bdnn::python
