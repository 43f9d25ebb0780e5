#include "experiment/results_file.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/sizes.h"

namespace bdnn {
namespace {

constexpr const char* kFormat = "bdnn results";
constexpr std::uint64_t kVersion = 1;
constexpr std::uint64_t kMaxFigures = 100'000;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;

Json json_of(const NamedValues& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values) json.add(name, value);
  return json;
}

Json json_of(const ImageRow& row) {
  Json found = Json::array();
  for (const auto& image : row.found) {
    found.push_back({{"image", image.image}, {"distance", image.distance}, {"right", image.right ? 1 : 0}});
  }
  return {{"query", row.query}, {"image", row.image}, {"label", row.label}, {"found", found}};
}

Json json_of(const Cell& cell) {
  Json curve = Json::array();
  for (const auto& at : cell.curve) {
    curve.push_back(Json::array(std::vector<double>{at.precision, at.recall, at.empty, at.looked_at}));
  }
  Json images = Json::array();
  for (const auto& row : cell.images) images.push_back(json_of(row));
  return {{"setting", cell.key.setting},
          {"method", cell.key.method},
          {"profile", cell.key.profile},
          {"set", cell.key.set},
          {"bits", cell.key.bits},
          {"seed", cell.key.seed},
          {"values", json_of(cell.values)},
          {"codes", json_of(cell.codes)},
          {"train_seconds", cell.train_seconds},
          {"measure_seconds", cell.measure_seconds},
          {"threads", cell.threads},
          {"cells_at_once", cell.cells_at_once},
          {"outcome", cell.outcome},
          {"finished", cell.finished},
          {"environment", cell.environment},
          {"curve", curve},
          {"images", images}};
}

Json json_of(const PlannedMethod& method) {
  return {{"label", method.label}, {"method", method.method}, {"profile", method.profile}, {"set", method.set}};
}

Json json_of(const ExperimentRecord& record) {
  const ExperimentPlan& plan = record.plan;
  Json methods = Json::array();
  for (const auto& method : plan.methods) methods.push_back(json_of(method));
  return {{"name", plan.name},
          {"path", plan.path},
          {"data", record.data},
          {"setting", record.setting},
          {"quick", plan.quick ? 1 : 0},
          {"bits", Json::array(plan.bits)},
          {"seeds", Json::array(plan.seeds)},
          {"methods", methods},
          {"facts", Json::array(record.facts)},
          {"experiment", plan.text},
          {"protocol", plan.protocol_text}};
}

std::map<std::string, std::string> texts_of(const JsonValue& json, std::string_view name) {
  std::map<std::string, std::string> texts;
  const auto* members = json.at(name).as_object();
  if (members == nullptr) failure("'{}' must be an object", name);
  for (const auto& [key, value] : *members) {
    if (value.as_string() == nullptr) failure("'{}' in '{}' must be a string", key, name);
    texts[key] = *value.as_string();
  }
  return texts;
}

// A value that was not finite is null in JSON, and left out.
NamedValues values_in(const JsonValue& json, std::string_view name) {
  NamedValues values;
  const auto* members = json.at(name).as_object();
  if (members == nullptr) failure("'{}' must be an object", name);
  for (const auto& [key, value] : *members) {
    if (value.is_null()) continue;
    if (!value.as_number()) failure("'{}' in '{}' must be a number", key, name);
    values.emplace_back(key, *value.as_number());
  }
  return values;
}

template <class Number>
std::vector<Number> wholes_in(const JsonValue& json, std::string_view name) {
  std::vector<Number> numbers;
  for (const JsonValue& value : json.array_at(name)) {
    if (!value.as_whole()) failure("'{}' must be a list of whole numbers", name);
    numbers.push_back(*value.as_whole());
  }
  return numbers;
}

// Refuses a plan whose report would have too many figures: short lists multiply to many.
void check_figures(const ExperimentPlan& plan) {
  std::uint64_t rows = plan.methods.size();
  for (const auto& paper : plan.paper) rows += paper.percent.size();
  std::uint64_t figures = rows;
  bool few = !plan.methods.empty();
  for (const std::size_t size : {plan.bits.size(), plan.seeds.size(), plan.metrics.size()}) {
    few = few && multiply_checked(figures, size);
  }
  if (!few || figures == 0 || figures > kMaxFigures) {
    failure("the experiment {} must have 1 to {} figures: methods x lengths x seeds x metrics", plan.name, kMaxFigures);
  }
}

ImageRow image_row_of(const JsonValue& json) {
  ImageRow row{json.whole_at("query"), json.string_at("image"), json.string_at("label"), {}};
  for (const JsonValue& found : json.array_at("found")) {
    row.found.push_back({found.string_at("image"), found.whole_at("distance"), found.whole_at("right") != 0});
  }
  return row;
}

Cell cell_of(const JsonValue& json) {
  Cell cell;
  cell.key = {json.string_at("setting"), json.string_at("method"), json.string_at("profile"),
              texts_of(json, "set"),     json.whole_at("bits"),    json.whole_at("seed")};
  cell.values = values_in(json, "values");
  cell.codes = values_in(json, "codes");
  cell.train_seconds = json.number_at("train_seconds");
  cell.measure_seconds = json.number_at("measure_seconds");
  cell.threads = json.int_at("threads");
  cell.cells_at_once = json.int_at("cells_at_once");
  cell.outcome = json.string_at("outcome");
  cell.finished = json.string_at("finished");
  cell.environment = texts_of(json, "environment");
  for (const JsonValue& point : json.array_at("curve")) {
    const auto* numbers = point.as_array();
    if (numbers == nullptr || numbers->size() != 4) failure("'curve' must be lists of four numbers");
    const auto number = [&](std::size_t i) { return (*numbers)[i].as_number().value_or(0); };
    cell.curve.push_back({cell.curve.size(), number(0), number(1), number(2), number(3)});
  }
  for (const JsonValue& row : json.array_at("images")) cell.images.push_back(image_row_of(row));
  return cell;
}

ExperimentRecord record_of(const JsonValue& json) {
  ExperimentRecord record;
  const std::string& name = json.string_at("name");
  record.plan = parse_experiment(json.string_at("experiment"), name);
  // The first files of this version had neither; these are the usual values.
  const std::string* path = json["path"].as_string();
  record.plan.path = path != nullptr ? *path : fmt::format("experiments/{}.toml", name);
  if (const std::string* data = json["data"].as_string()) record.data = *data;
  record.plan.protocol_text = json.string_at("protocol");
  record.plan.quick = json.whole_at("quick") != 0;
  record.plan.bits = wholes_in<std::size_t>(json, "bits");
  record.plan.seeds = wholes_in<std::uint64_t>(json, "seeds");
  record.plan.methods.clear();
  for (const JsonValue& method : json.array_at("methods")) {
    record.plan.methods.push_back(
        {method.string_at("label"), method.string_at("method"), method.string_at("profile"), texts_of(method, "set")});
  }
  check_figures(record.plan);
  record.setting = json.string_at("setting");
  for (const JsonValue& fact : json.array_at("facts")) {
    if (fact.as_string() == nullptr) failure("'facts' must be strings");
    record.facts.push_back(*fact.as_string());
  }
  return record;
}

}  // namespace

ResultsFile::ResultsFile(std::string path) : path_(std::move(path)) {
  if (!std::filesystem::exists(path_)) return;
  const std::string text = read_whole_file(path_, kMaxBytes);
  with_name(path_, [&] {
    const JsonValue json = JsonValue::parse(text);
    const std::string* format = json["format"].as_string();
    if (format == nullptr || *format != kFormat) failure("is not a results file");
    if (json.whole_at("version") != kVersion) {
      failure("is version {} of the format, this program reads version {}; use another folder",
              json.whole_at("version"), kVersion);
    }
    for (const JsonValue& record : json.array_at("experiments")) experiments_.push_back(record_of(record));
    for (const JsonValue& cell : json.array_at("cells")) cells_.push_back(cell_of(cell));
  });
}

const Cell* ResultsFile::find(const CellKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(cells_.begin(), cells_.end(), [&](const Cell& cell) { return cell.key == key; });
  return found == cells_.end() ? nullptr : &*found;
}

void ResultsFile::put(ExperimentRecord record) {
  check_figures(record.plan);  // what is written can be read again
  const std::lock_guard lock(mutex_);
  const auto same = [&](const ExperimentRecord& other) { return other.plan.name == record.plan.name; };
  const auto found = std::find_if(experiments_.begin(), experiments_.end(), same);
  if (found == experiments_.end()) {
    experiments_.push_back(std::move(record));
  } else {
    *found = std::move(record);
  }
  save();
}

void ResultsFile::add(Cell cell) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(cells_.begin(), cells_.end(), [&](const Cell& other) { return other.key == cell.key; });
  if (found == cells_.end()) {
    cells_.push_back(std::move(cell));
  } else {
    *found = std::move(cell);
  }
  save();
}

void ResultsFile::save() const {
  Json experiments = Json::array();
  for (const auto& record : experiments_) experiments.push_back(json_of(record));
  Json cells = Json::array();
  for (const auto& cell : cells_) cells.push_back(json_of(cell));
  const Json json = {{"format", kFormat}, {"version", kVersion}, {"experiments", experiments}, {"cells", cells}};
  OutputFile file(path_);
  file.write(json.text() + "\n");
  file.commit();
}

}  // namespace bdnn
