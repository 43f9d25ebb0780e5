// bdnn._core: the C++ library as Python sees it. It takes arrays that bdnn/_arrays.py has prepared; what users meet is
// written in Python on top of it.
#include "module.h"

#include "bdnn/error.h"
#include "bdnn/index.h"
#include "bdnn/version.h"

namespace py = pybind11;

namespace {

// The classes are Python's own (bdnn/_errors.py), so that one can be a ValueError and the other an OSError.
void raise_in_python(const char* name, const char* message) {
  const py::object type = py::module_::import("bdnn._errors").attr(name);
  PyErr_SetString(type.ptr(), message);
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "The C++ library behind bdnn.";
  module.attr("__version__") = bdnn::version();
  module.def("backend", [] {
    const bdnn::Backend backend = bdnn::backend();
    py::dict facts;
    facts["products"] = backend.products;
    facts["simd"] = backend.simd;
    facts["lapack"] = backend.lapack;
    return facts;
  });
  py::register_exception_translator([](std::exception_ptr raised) {
    try {
      if (raised) std::rethrow_exception(raised);
    } catch (const bdnn::DamagedIndex& error) {
      raise_in_python("DamagedIndexError", error.what());
    } catch (const bdnn::Error& error) {
      raise_in_python(error.kind() == bdnn::Error::Kind::misuse ? "MisuseError" : "FailureError", error.what());
    }
  });
  bdnn::python::add_models(module);
  bdnn::python::add_search(module);
  bdnn::python::add_files(module);
  bdnn::python::add_evaluation(module);
}
