#include "experiment/results_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "base/files.h"
#include "expect_error.h"
#include "experiment/results_testing.h"
#include "temporary_directory.h"
#include "whole_file.h"

namespace bdnn {
namespace {

using testing::TemporaryDirectory;

TEST(ResultsFile, GivesBackWhatWasAdded) {
  const TemporaryDirectory directory;
  const std::string path = directory / "r.json";
  {
    ResultsFile results(path);
    ExperimentRecord record = testing::example_record();
    record.data = "/mnt/data";
    testing::add_example(results, record);
  }
  const std::string text = read_whole_file(path, 1 << 20);
  ResultsFile again(path);
  ASSERT_EQ(again.cells().size(), 8U);
  ASSERT_EQ(again.experiments().size(), 1U);
  EXPECT_EQ(again.experiments()[0].plan.title, "A title");
  EXPECT_EQ(again.experiments()[0].plan.methods, testing::example_record().plan.methods);
  EXPECT_EQ(again.experiments()[0].plan.path, "experiments/example.toml");
  EXPECT_EQ(again.experiments()[0].data, "/mnt/data");
  const Cell expected = testing::example_cell(testing::example_record(), 1, 16, 1, .2 + .01 + .16);
  const Cell* found = again.find(expected.key);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->values, expected.values);
  EXPECT_EQ(found->codes, expected.codes);
  ASSERT_EQ(found->curve.size(), 17U);
  EXPECT_EQ(found->curve[3].precision, expected.curve[3].precision);
  EXPECT_EQ(found->images.at(0).found.at(0).right, true);
  EXPECT_EQ(found->images.at(0).found.at(1).distance, 4U);
  again.put(again.experiments()[0]);
  EXPECT_EQ(read_whole_file(path, 1 << 20), text) << "reading and writing changes the file";
}

TEST(ResultsFile, FilesThatDoNotNameTheDataAreRead) {
  const TemporaryDirectory directory;
  const std::string path = directory / "r.json";
  {
    ResultsFile results(path);
    results.put(testing::example_record());
  }
  std::string text = read_whole_file(path, 1 << 20);
  const std::string names = R"("path":"experiments/example.toml","data":"data",)";
  ASSERT_NE(text.find(names), std::string::npos) << text;
  text.erase(text.find(names), names.size());
  testing::write_file(path, text);
  const ResultsFile results(path);
  EXPECT_EQ(results.experiments().at(0).plan.path, "experiments/example.toml");
  EXPECT_EQ(results.experiments().at(0).data, "data");
}

TEST(ResultsFile, ACellOfAnotherSettingOrOptionIsNotFound) {
  const TemporaryDirectory directory;
  ResultsFile results(directory / "r.json");
  testing::add_example(results);
  const CellKey key = results.cells().front().key;
  EXPECT_NE(results.find(key), nullptr);
  const auto changed = [&](const auto& change) {
    CellKey other = key;
    change(other);
    return results.find(other);
  };
  EXPECT_EQ(changed([](CellKey& k) { k.setting = "other"; }), nullptr);
  EXPECT_EQ(changed([](CellKey& k) { k.profile = "paper"; }), nullptr);
  EXPECT_EQ(changed([](CellKey& k) { k.set["lambda1"] = "2"; }), nullptr);
  EXPECT_EQ(changed([](CellKey& k) { k.seed = 9; }), nullptr);
}

TEST(ResultsFile, AValueThatIsNotFiniteDoesNotSpoilTheFile) {
  const TemporaryDirectory directory;
  ResultsFile results(directory / "r.json");
  testing::add_example(results);
  Cell cell = results.cells().front();
  cell.values.emplace_back("odd", std::numeric_limits<double>::quiet_NaN());
  results.add(cell);
  EXPECT_EQ(ResultsFile(directory / "r.json").find(cell.key)->values.size(), 2U);
}

TEST(ResultsFile, OtherVersionsAndOtherFilesAreRefused) {
  const TemporaryDirectory directory;
  const std::string path = directory / "r.json";
  const auto expect = [&](const std::string& text, const std::string& message) {
    testing::write_file(path, text);
    EXPECT_BDNN_ERROR(ResultsFile{path}, failure, message);
  };
  expect("", "r.json: is not valid JSON");
  expect("{}", "r.json: is not a results file");
  expect(R"({"format": "bdnn results", "version": 2})", "is version 2 of the format, this program reads version 1");
  expect(R"({"format": "bdnn results", "version": 1, "experiments": []})", "'cells' is missing");
  expect(R"({"format": "bdnn results", "version": 1, "experiments": [{}], "cells": []})", "'name' is missing");
  expect(R"({"format": "bdnn results", "version": 1, "experiments": [], "cells": [3]})", "'setting' is missing");
}

TEST(ResultsFile, ShortListsDoNotMakeALongReport) {
  const TemporaryDirectory directory;
  const std::string path = directory / "r.json";
  ExperimentRecord record = testing::example_record();
  ResultsFile(path).put(record);
  std::string text = testing::read_file(path);
  for (const std::string name : {"bits", "seeds"}) {
    const auto at = text.find('[', text.find("\"" + name + "\""));
    std::string many = "[8";
    for (int i = 1; i < 400; ++i) many += ",8";
    text.replace(at, text.find(']', at) - at, many);
  }
  testing::write_file(path, text);
  constexpr const char* kMessage = "the experiment example must have 1 to 100000 figures: methods x lengths x seeds x";
  EXPECT_BDNN_ERROR(ResultsFile{path}, failure, kMessage);
  record.plan.bits.assign(400, 8);
  record.plan.seeds.assign(400, 1);
  EXPECT_BDNN_ERROR(ResultsFile(directory / "new.json").put(record), failure, kMessage);
}

TEST(ResultsFile, DamageRaisesErrorAndNothingElse) {
  const TemporaryDirectory directory;
  const std::string path = directory / "r.json";
  {
    ResultsFile results(path);
    const ExperimentRecord record = testing::example_record();
    results.put(record);
    results.add(testing::example_cell(record, 0, 16, 1, .25));
  }
  const std::string text = read_whole_file(path, 1 << 20);
  for (std::size_t length = 0; length + 1 < text.size(); length += 7) {  // the last byte is the end of the line
    testing::write_file(path, text.substr(0, length));
    EXPECT_THROW(ResultsFile{path}, Error) << length;
  }
  for (std::size_t at = 0; at < text.size(); at += 3) {  // may still be valid: a digit, a letter of a name
    std::string changed = text;
    changed[at] = changed[at] == '"' ? '[' : '"';
    testing::write_file(path, changed);
    try {
      const ResultsFile results(path);
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace bdnn
