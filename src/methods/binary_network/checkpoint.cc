#include "methods/binary_network/checkpoint.h"

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "bdnn/version.h"
#include "model/tensor_file.h"

namespace bdnn {
namespace {

constexpr TensorFormat kFormat{"bdnn.checkpoint", "checkpoint", 2};
constexpr std::uint64_t kMaxFile = std::uint64_t{1} << 40;

// Tensors have at least one element.
void write_floats(TensorFileWriter& writer, const std::string& name, const std::vector<float>& values) {
  if (!values.empty()) writer.tensor(name, values, {values.size()});
}

std::vector<float> read_floats(const TensorFileReader& reader, const std::string& name) {
  std::vector<std::size_t> shape;
  return reader.has_tensor(name) ? reader.floats(name, 1, shape) : std::vector<float>();
}

void read_counters(const JsonValue& counters, AlternationState& state) {
  state.iteration = counters.int_at("rounds") - 1;  // the first round is iteration 0
  if (state.iteration < 0) state.start_rounds = counters.int_at("start_rounds");
  state.without_gain = counters.int_at("without_gain");
  state.best.iteration = counters.int_at("best_round") - 1;  // the start is iteration -1
  if (!counters.at("best_score").is_null()) state.best.score = counters.number_at("best_score");
  if (!counters.at("start_score").is_null()) state.best.start_score = counters.number_at("start_score");
  if (!counters.at("path_decay").is_null()) state.path_decay = counters.number_at("path_decay");
  if (!counters["itq_score"].is_null()) state.itq_score = counters.number_at("itq_score");
  state.best.differing = counters.number_at("best_differing");
}

void read_rounds(const JsonValue& rounds, AlternationState& state) {
  if (rounds.as_array() == nullptr) failure("the rounds must be a list");
  for (const JsonValue& values : *rounds.as_array()) {
    if (values.as_object() == nullptr) failure("a round must be an object");
    Progress::Round& round = state.rounds.emplace_back();
    for (const auto& [name, value] : *values.as_object()) round.emplace_back(name, values.number_at(name));
  }
}

}  // namespace

void save_checkpoint(const AlternationState& state, const CheckpointPlace& place) {
  TensorFileWriter writer(kFormat);
  Json rounds = Json::array();
  for (const auto& round : state.rounds) {
    Json values = Json::object();
    for (const auto& [name, value] : round) values.add(name, value);
    rounds.push_back(values);
  }
  writer.needs_version(kFormat.version);
  writer.fact("program", std::string("bdnn ") + version());
  writer.fact("identity", place.identity);
  const Json counters = {{"rounds", state.iteration + 1},
                         {"start_rounds", state.start_rounds},
                         {"without_gain", state.without_gain},
                         {"best_round", state.best.iteration + 1},
                         {"best_score", state.best.score ? Json(*state.best.score) : Json()},
                         {"start_score", state.best.start_score ? Json(*state.best.start_score) : Json()},
                         {"path_decay", state.path_decay ? Json(*state.path_decay) : Json()},
                         {"itq_score", state.itq_score ? Json(*state.itq_score) : Json()},
                         {"best_differing", state.best.differing}};
  writer.fact("counters", counters.text());
  writer.fact("rounds", rounds.text());
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
        "{}: is the checkpoint of another training run ({}), this one is {}; give the same data and options, or remove "
        "it",
        place.path, reader.fact("identity"), place.identity);
  }
  const std::string counters = reader.fact("counters");
  const std::string rounds = reader.fact("rounds");
  AlternationState state;
  try {
    read_counters(JsonValue::parse(counters), state);
    read_rounds(JsonValue::parse(rounds), state);
  } catch (const Error& error) {
    reader.broken(fmt::format("has counters that cannot be read ({})", error.what()));
  }
  state.parameters = read_floats(reader, "parameters");
  state.step_state = read_floats(reader, "step");
  state.best.parameters = read_floats(reader, "best.parameters");
  state.best.state = read_floats(reader, "best.step");
  std::vector<std::size_t> shape;
  auto codes = reader.bytes("codes", 2, shape);
  state.codes = TargetCodes(bits, samples);
  const std::size_t best = state.iteration < 0 ? 0 : parameters;
  if (state.parameters.size() != parameters || state.best.parameters.size() != best ||
      codes.size() != state.codes.bytes().size()) {
    reader.broken("holds a network or codes of another size");
  }
  state.codes.bytes() = std::move(codes);
  return state;
}

}  // namespace bdnn
