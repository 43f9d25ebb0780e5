#include "experiment/experiment_plan.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/toml.h"

namespace bdnn {
namespace {

constexpr std::uint64_t kMaxText = 1 << 20;

PlannedMethod read_method(TomlTable& table) {
  PlannedMethod planned;
  const auto method = table.text("method");
  if (!method) table.wrong("method", "the name of a method");
  planned.method = *method;
  planned.label = table.text("label").value_or(*method);
  planned.profile = table.text("profile").value_or("default");
  TomlTable set = table.table("set");
  for (const auto& key : set.keys()) {
    planned.set[key] = set.text(key.c_str(), "a value in quotes, such as \"32\"").value_or("");
  }
  planned.quick = table.flag("quick").value_or(true);
  table.refuse_unknown();
  return planned;
}

PaperFigures read_paper(TomlTable& table) {
  PaperFigures paper;
  paper.source = table.text("source").value_or("the paper");
  paper.metric = table.text("metric").value_or("");
  if (paper.metric.empty()) table.wrong("metric", "the measure that the paper prints");
  paper.bits = table.counts("bits", {});
  TomlTable percent = table.table("percent");
  for (const auto& label : percent.keys()) {
    auto values = percent.numbers(label.c_str());
    if (values.size() != paper.bits.size()) {
      percent.wrong(label.c_str(), fmt::format("{} numbers, one for each of 'bits'", paper.bits.size()));
    }
    paper.percent[label] = std::move(values);
  }
  table.refuse_unknown();
  return paper;
}

std::optional<ImageShape> read_images(TomlTable table) {
  if (!table.exists()) return std::nullopt;
  const ImageShape shape{table.count("width", 0), table.count("height", 0), table.count("channels", 1)};
  constexpr std::size_t kMost = 4096;
  if (shape.width == 0 || shape.width > kMost) table.wrong("width", "1 to 4096");
  if (shape.height == 0 || shape.height > kMost) table.wrong("height", "1 to 4096");
  if (shape.channels != 1 && shape.channels != 3) table.wrong("channels", "1 or 3");
  table.refuse_unknown();
  return shape;
}

void check(const ExperimentPlan& plan, const std::string& path) {
  if (plan.bits.empty() || plan.seeds.empty() || plan.metrics.empty()) {
    failure("{}: give 'bits', 'seeds' and 'metrics' at least one value each", path);
  }
  if (std::find(plan.bits.begin(), plan.bits.end(), 0U) != plan.bits.end()) failure("{}: 'bits' start at 1", path);
  if (plan.methods.empty()) failure("{}: names no method; add [[method]]", path);
  if (std::none_of(plan.methods.begin(), plan.methods.end(),
                   [](const PlannedMethod& method) { return method.quick; })) {
    failure("{}: every method has 'quick = false'; leave it out of one", path);
  }
  std::set<std::string> labels;
  for (const auto& method : plan.methods) {
    if (!labels.insert(method.label).second) {
      failure("{}: two methods are called '{}'; give each a label of its own", path, method.label);
    }
  }
}

std::string stem(const std::string& path) {
  const std::string name = file_name(path);
  return name.ends_with(".toml") ? name.substr(0, name.size() - 5) : name;
}

}  // namespace

ExperimentPlan parse_experiment(const std::string& text, const std::string& path) {
  ExperimentPlan plan;
  TomlTable top = TomlTable::parse(text, path);
  plan.path = path;
  plan.name = stem(path);
  plan.text = text;
  plan.title = top.text("title").value_or(plan.name);
  plan.description = top.text("description").value_or("");
  plan.protocol = top.text("protocol").value_or("");
  if (plan.protocol.empty()) top.wrong("protocol", "the path of a protocol file");
  plan.dataset = top.text("dataset").value_or(".");
  plan.bits = top.counts("bits", {});
  const auto seeds = top.counts("seeds", {1});
  plan.seeds.assign(seeds.begin(), seeds.end());
  plan.metrics = top.texts("metrics").value_or(plan.metrics);
  plan.classes = top.texts("classes").value_or(plan.classes);
  plan.images = read_images(top.table("images"));
  for (TomlTable& table : top.tables("method")) plan.methods.push_back(read_method(table));
  for (TomlTable& table : top.tables("paper")) plan.paper.push_back(read_paper(table));
  top.refuse_unknown();
  check(plan, path);
  return plan;
}

ExperimentPlan load_experiment(const std::string& path) {
  ExperimentPlan plan = parse_experiment(read_whole_file(path, kMaxText), path);
  const std::filesystem::path protocol(plan.protocol);
  if (protocol.is_relative()) plan.protocol = (std::filesystem::path(path).parent_path() / protocol).string();
  plan.protocol_text = read_whole_file(plan.protocol, kMaxText);
  return plan;
}

ExperimentPlan quick_version(ExperimentPlan plan) {
  std::vector<std::size_t> bits;
  for (const std::size_t length : plan.bits) {
    if (length == 16 || length == 32) bits.push_back(length);
  }
  if (bits.empty()) bits = {plan.bits.front(), plan.bits.back()};
  if (bits.front() == bits.back()) bits.resize(1);
  plan.bits = bits;
  plan.seeds.resize(1);
  std::erase_if(plan.methods, [](const PlannedMethod& method) { return !method.quick; });
  plan.quick = true;
  return plan;
}

void check_metrics(const ExperimentPlan& plan, const Protocol& protocol) {
  MetricsResult measured;
  for (const std::size_t radius : protocol.metrics.radii) measured.radii.push_back({.radius = radius});
  for (const std::size_t k : protocol.metrics.at) {
    measured.ranks.push_back({.k = k, .nearest = protocol.labels_are_relevant ? std::nullopt : std::optional(0.0)});
  }
  const NamedValues values = values_of(measured);
  for (const auto& metric : plan.metrics) {
    const auto named = [&](const auto& value) { return value.first == metric; };
    if (std::any_of(values.begin(), values.end(), named)) continue;
    std::string names;
    for (const auto& [name, value] : values) names += (names.empty() ? "" : ", ") + name;
    failure("{}: its protocol does not measure '{}'; it measures {}", plan.name, metric, names);
  }
}

}  // namespace bdnn
