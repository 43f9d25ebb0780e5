#include "methods/binary_network/checkpoint.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "bdnn/version.h"
#include "model/tensor_file.h"

namespace bdnn {
namespace {

using nlohmann::ordered_json;

constexpr TensorFormat kFormat{"bdnn.checkpoint", "checkpoint", 1};
constexpr std::uint64_t kMaxFile = std::uint64_t{1} << 40;

// Tensors have at least one element.
void write_floats(TensorFileWriter& writer, const std::string& name, const std::vector<float>& values) {
  if (!values.empty()) writer.tensor(name, values, {values.size()});
}

std::vector<float> read_floats(const TensorFileReader& reader, const std::string& name) {
  std::vector<std::size_t> shape;
  return reader.has_tensor(name) ? reader.floats(name, 1, shape) : std::vector<float>();
}

}  // namespace

void save_checkpoint(const AlternationState& state, const CheckpointPlace& place) {
  TensorFileWriter writer(kFormat);
  ordered_json rounds = ordered_json::array();
  for (const auto& round : state.rounds) {
    ordered_json values = ordered_json::object();
    for (const auto& [name, value] : round) values[name] = value;
    rounds.push_back(values);
  }
  writer.fact("program", std::string("bdnn ") + version());
  writer.fact("identity", place.identity);
  const ordered_json counters = {{"iteration", state.iteration},
                                 {"without_gain", state.without_gain},
                                 {"best_iteration", state.best.iteration},
                                 {"best_score", state.best.score ? ordered_json(*state.best.score) : ordered_json()}};
  writer.fact("counters", counters.dump());
  writer.fact("rounds", rounds.dump());
  write_floats(writer, "parameters", state.parameters);
  write_floats(writer, "step", state.step_state);
  write_floats(writer, "best.parameters", state.best.parameters);
  write_floats(writer, "best.step", state.best.state);
  writer.tensor("codes", state.codes.bytes(), {state.codes.size(), state.codes.stride()});
  OutputFile file(place.path);
  file.write(writer.finish());
  file.commit();
}

std::optional<AlternationState> load_checkpoint(const CheckpointPlace& place, std::size_t parameters, std::size_t bits,
                                                std::size_t samples) {
  if (!std::filesystem::exists(place.path)) return std::nullopt;
  const std::string bytes = read_whole_file(place.path, kMaxFile);
  const TensorFileReader reader(bytes, place.path, kFormat);
  if (reader.fact("identity") != place.identity) {
    misuse(
        "{}: is the checkpoint of another training ({}), this one is {}; give the same data and options, or remove it",
        place.path, reader.fact("identity"), place.identity);
  }
  AlternationState state;
  try {
    const auto counters = ordered_json::parse(reader.fact("counters"));
    state.iteration = counters.at("iteration").get<int>();
    state.without_gain = counters.at("without_gain").get<int>();
    state.best.iteration = counters.at("best_iteration").get<int>();
    if (!counters.at("best_score").is_null()) state.best.score = counters.at("best_score").get<double>();
    const auto rounds = ordered_json::parse(reader.fact("rounds"));
    for (const auto& values : rounds) {
      Progress::Round round;
      for (const auto& [name, value] : values.items()) round.emplace_back(name, value.get<double>());
      state.rounds.push_back(std::move(round));
    }
  } catch (const nlohmann::json::exception&) {
    reader.broken("has counters that cannot be read");
  }
  state.parameters = read_floats(reader, "parameters");
  state.step_state = read_floats(reader, "step");
  state.best.parameters = read_floats(reader, "best.parameters");
  state.best.state = read_floats(reader, "best.step");
  std::vector<std::size_t> shape;
  auto codes = reader.bytes("codes", 2, shape);
  state.codes = TargetCodes(bits, samples);
  if (state.parameters.size() != parameters || state.best.parameters.size() != parameters ||
      codes.size() != state.codes.bytes().size()) {
    reader.broken("holds a network or codes of another size");
  }
  state.codes.bytes() = std::move(codes);
  return state;
}

}  // namespace bdnn
