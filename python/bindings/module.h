// The parts of the extension module bdnn._core, one source each.
#pragma once

#include <pybind11/pybind11.h>

namespace bdnn::python {

void add_models(pybind11::module_& module);      // models.cc: methods, training, encoding
void add_search(pybind11::module_& module);      // search.cc: indexes, filters, scans by score
void add_files(pybind11::module_& module);       // files.cc: vectors, labels and codes in files; datasets
void add_evaluation(pybind11::module_& module);  // evaluation.cc: true neighbours, metrics, protocols, diagnostics

}  // namespace bdnn::python
