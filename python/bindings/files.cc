#include <pybind11/stl.h>

#include "arrays.h"
#include "bdnn/codes.h"
#include "bdnn/datasets.h"
#include "bdnn/vectors.h"
#include "job.h"
#include "module.h"

namespace bdnn::python {
namespace {

VectorsFile file_of(const std::string& path, std::vector<std::string> columns, std::vector<std::string> drop,
                    std::string label, std::string id) {
  return {path, {std::move(columns), std::move(drop), std::move(label), std::move(id)}};
}

py::tuple codes_and_facts(const Codes& codes) { return py::make_tuple(array_of(codes), codes.bits(), codes.origin()); }

}  // namespace

void add_files(py::module_& module) {
  module.def("load_vectors", [](const std::string& path, std::vector<std::string> columns,
                                std::vector<std::string> drop, std::string label, std::string id) {
    Vectors vectors;
    {
      const py::gil_scoped_release no_gil;
      vectors = load_vectors(file_of(path, std::move(columns), std::move(drop), std::move(label), std::move(id)));
    }
    return array_of(vectors, true);
  });
  module.def("save_vectors", [](const py::array& array, const std::string& path) {
    const Vectors vectors = vectors_of(array);
    const py::gil_scoped_release no_gil;
    save_vectors(vectors, path);
  });
  module.def("load_labels", [](const std::string& path, std::string label) {
    LabelNames names;
    auto labels = load_labels(file_of(path, {}, {}, std::move(label), {}), &names);
    return py::make_tuple(array_of(std::move(labels)), names);
  });
  module.def("save_labels", [](const py::array_t<std::int64_t, py::array::c_style>& labels, const std::string& path) {
    save_labels(vector_of(labels), path);
  });
  module.def("label_of", [](const std::string& name) { return label_of(name); });
  module.def("load_ids", [](const std::string& path) { return array_of(load_ids(path)); });
  module.def("load_column", [](const std::string& path, const std::string& name) { return load_column(path, name); });
  module.def("load_codes", [](const std::string& path, std::size_t bits, bool map) {
    Codes codes;
    {
      const py::gil_scoped_release no_gil;
      codes = map ? map_codes(path) : load_codes(path, bits);
    }
    return codes_and_facts(codes);
  });
  module.def("save_codes",
             [](const py::array& array, std::size_t bits, const CodesOrigin& origin, const std::string& path) {
               const Codes codes = codes_of(array, bits, origin);
               const py::gil_scoped_release no_gil;
               save_codes(codes, path);
             });
  module.def("list_datasets", [](const std::string& catalog) {
    py::list list;
    for (const auto& facts : list_datasets(catalog)) {
      py::dict entry;
      entry["name"] = facts.name;
      entry["title"] = facts.title;
      entry["about"] = facts.about;
      entry["vectors"] = facts.vectors;
      entry["dimension"] = facts.dimension;
      entry["files"] = facts.files;
      list.append(entry);
    }
    return list;
  });
  module.def("get_dataset", [](const py::object& listener, const std::string& name, const std::string& data,
                               const std::string& from, const std::string& catalog) {
    const auto files = job_result(listener, [&](Progress& progress) {
      return get_dataset(name, {.data = data, .from = from}, progress, {}, catalog);
    });
    std::vector<py::bytes> paths;  // not all are valid text
    for (const auto& file : files) paths.emplace_back(file.path);
    return paths;
  });
}

}  // namespace bdnn::python
