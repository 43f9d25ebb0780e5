#include "models.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "arrays.h"
#include "bdnn/methods.h"
#include "job.h"
#include "module.h"

namespace bdnn::python {
namespace {

void add_options(const std::vector<OptionInfo>& infos, py::list& options) {
  for (const OptionInfo& option : infos) {
    py::dict facts;
    facts["name"] = option.name;
    facts["default"] = option.default_value;
    facts["allowed"] = option.allowed;
    facts["summary"] = option.summary;
    options.append(facts);
  }
}

py::list describe_methods() {
  py::list list;
  for (const MethodInfo& method : methods()) {
    py::dict entry;
    py::list options;
    add_options(method.options, options);
    add_options(preparation_infos(), options);
    py::list profiles;
    for (const ProfileInfo& profile : method.profiles) {
      py::dict facts;
      facts["name"] = profile.name;
      facts["summary"] = profile.summary;
      facts["options"] = profile.options;
      profiles.append(facts);
    }
    entry["name"] = method.name;
    entry["summary"] = method.summary;
    entry["reference"] = method.reference;
    entry["supervised"] = method.supervised;
    entry["resumable"] = method.resumable;
    entry["options"] = options;
    entry["profiles"] = profiles;
    list.append(entry);
  }
  return list;
}

using Int64s = py::array_t<std::int64_t, py::array::c_style>;

std::shared_ptr<PreparedModel> train_model(const py::array& x, const std::string& method, std::size_t bits,
                                           std::uint64_t seed, int threads,
                                           const std::map<std::string, std::string>& set, const Int64s& labels,
                                           const std::string& data_name, bool decoder, const std::string& checkpoint,
                                           bool resume, const py::object& listener) {
  TrainOptions options{.method = method,
                       .bits = bits,
                       .seed = seed,
                       .threads = threads,
                       .set = set,
                       .labels = vector_of(labels),
                       .data_name = data_name,
                       .decoder = decoder,
                       .checkpoint = checkpoint,
                       .resume = resume};
  const Vectors vectors = vectors_of(x);
  return std::make_shared<PreparedModel>(
      job_result(listener, [&](Progress& progress) { return train(vectors, options, progress); }));
}

// Calls work(first, count) for pieces of the samples, without the GIL; Ctrl-C is seen to in between. Most arrays are
// one piece: pieces are so large that threads hardly wait at their ends.
template <class Work>
void in_pieces(std::size_t samples, std::size_t piece, const Work& work) {
  const py::gil_scoped_release no_gil;
  for (std::size_t first = 0; first < samples; first += piece) {
    work(first, std::min(piece, samples - first));
    if (first + piece < samples) check_signals();
  }
}

constexpr std::size_t kPiece = 65536;
constexpr std::size_t kRefinedPiece = 8192;  // takes longer

py::array encode_array(PreparedModel& model, const py::array& x, int threads, bool refined, int local_search) {
  const Vectors vectors = vectors_of(x);
  const std::size_t bytes = bytes_for_bits(model.model().bits());
  py::array_t<std::uint8_t> codes({vectors.size(), bytes});
  std::uint8_t* const out = codes.mutable_data();
  const EncodeOptions options{.refined = refined, .local_search = local_search, .threads = threads};
  in_pieces(vectors.size(), refined ? kRefinedPiece : kPiece, [&](std::size_t first, std::size_t count) {
    model.with_encoder(options,
                       [&](Encoder& encoder) { encoder.encode(vectors.slice(first, count), out + first * bytes); });
  });
  return codes;
}

py::array outputs_array(PreparedModel& model, const py::array& x, int threads) {
  const Vectors vectors = vectors_of(x);
  const std::size_t bits = model.model().bits();
  py::array_t<float> values({vectors.size(), bits});
  float* const out = values.mutable_data();
  in_pieces(vectors.size(), kPiece, [&](std::size_t first, std::size_t count) {
    model.with_encoder({.threads = threads},
                       [&](Encoder& encoder) { encoder.outputs(vectors.slice(first, count), out + first * bits); });
  });
  return values;
}

py::array reconstruct_array(const PreparedModel& model, const py::array& codes, int threads) {
  const Codes given = codes_of(codes, model.model().bits());
  Vectors rebuilt;
  {
    const py::gil_scoped_release no_gil;
    rebuilt = reconstruct(model.model(), given, threads);
  }
  return array_of(rebuilt, true);
}

py::dict record_of(const PreparedModel& prepared) {
  const TrainingRecord& record = prepared.model().record;
  py::dict facts;
  facts["method"] = record.method;
  facts["seed"] = record.seed;
  facts["options"] = record.options;
  facts["data"] = record.data;
  facts["samples"] = record.samples;
  facts["program"] = record.program;
  facts["outcome"] = record.outcome;
  return facts;
}

}  // namespace

void add_models(py::module_& module) {
  module.def("methods", describe_methods);
  module.def("train", train_model);

  py::class_<CodesOrigin>(module, "Origin")
      .def(py::init<>())
      .def_readonly("model", &CodesOrigin::model)
      .def_readonly("method", &CodesOrigin::method)
      .def_readonly("refined", &CodesOrigin::refined)
      .def_readonly("local_search", &CodesOrigin::local_search);

  using Holder = std::shared_ptr<PreparedModel>;
  py::class_<PreparedModel, Holder>(module, "Model")
      .def_static("load",
                  [](const std::string& path) {
                    const py::gil_scoped_release no_gil;
                    return std::make_shared<PreparedModel>(load_model(path));
                  })
      .def(py::pickle([](const PreparedModel& self) { return py::bytes(serialize_model(self.model())); },
                      [](const py::bytes& bytes) {
                        return std::make_shared<PreparedModel>(
                            parse_model(std::string_view(bytes), "the pickled model"));
                      }))
      .def("save",
           [](const PreparedModel& self, const std::string& path) {
             const py::gil_scoped_release no_gil;
             save_model(self.model(), path);
           })
      .def_property_readonly("dimension", [](const PreparedModel& self) { return self.model().dimension(); })
      .def_property_readonly("bits", [](const PreparedModel& self) { return self.model().bits(); })
      .def_property_readonly("has_outputs", [](const PreparedModel& self) { return self.model().has_outputs(); })
      .def_property_readonly("has_decoder", [](const PreparedModel& self) { return self.model().decoder.has_value(); })
      .def_property_readonly("fingerprint", [](const PreparedModel& self) { return fingerprint(self.model()); })
      .def_property_readonly("record", record_of)
      .def("describe", [](const PreparedModel& self) { return self.model().describe(); })
      .def("origin",
           [](PreparedModel& self, bool refined, int local_search) {
             CodesOrigin origin;
             self.with_encoder({.refined = refined, .local_search = local_search, .threads = 1},
                               [&](Encoder& encoder) { origin = encoder.origin(); });
             return origin;
           })
      .def("encode", encode_array)
      .def("outputs", outputs_array)
      .def("reconstruct", reconstruct_array)
      .def("encode_file", [](const PreparedModel& self, const std::string& vectors, const std::string& codes,
                             int threads, bool refined, int local_search, const py::object& listener) {
        return job_result(listener, [&](Progress& progress) {
          return encode_file(self.model(), vectors, codes,
                             {.refined = refined, .local_search = local_search, .threads = threads}, progress);
        });
      });
}

}  // namespace bdnn::python
