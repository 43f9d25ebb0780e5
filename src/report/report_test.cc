#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "experiment/results_testing.h"
#include "report/html.h"
#include "report/text_reports.h"
#include "report/write_report.h"
#include "temporary_directory.h"

namespace bdnn {
namespace {

using testing::TemporaryDirectory;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class Report : public ::testing::Test {
 protected:
  ReportData data(const ExperimentRecord& record = testing::example_record()) {
    ResultsFile results(directory_ / "r.json");
    testing::add_example(results, record);
    return report_data(results);
  }

  TemporaryDirectory directory_;
};

TEST_F(Report, IsMeanSpreadAndDifferenceFromThePaper) {
  const ReportData report = data();
  ASSERT_EQ(report.sections.size(), 1U);
  EXPECT_EQ(report.date, "17 November 2026");
  const ReportSection& section = report.sections[0];
  EXPECT_EQ(section.finished, 8U);
  EXPECT_DOUBLE_EQ(section.seconds, 20);
  ASSERT_EQ(section.tables.size(), 2U);
  const ReportTable& table = section.tables[0];
  EXPECT_EQ(table.title, "Precision within Hamming distance 2");
  ASSERT_EQ(table.rows.size(), 3U);
  const ReportValue& uh16 = table.rows[0].values[1];  // seeds give .47 and .48
  EXPECT_NEAR(*uh16.ours, 47.5, 1e-9);
  EXPECT_NEAR(uh16.spread(), 1, 1e-9);
  EXPECT_EQ(uh16.paper, 70.0);
  EXPECT_NEAR(*uh16.difference(), -22.5, 1e-9);
  EXPECT_TRUE(uh16.best);
  EXPECT_TRUE(uh16.best_of_paper);
  EXPECT_FALSE(table.rows[0].values[0].best_of_paper);
  EXPECT_FALSE(table.rows[1].values[1].best);
  EXPECT_FALSE(table.rows[1].values[1].paper.has_value());
  EXPECT_EQ(table.rows[2].label, "Theirs");
  EXPECT_FALSE(table.rows[2].values[0].ours.has_value());
  EXPECT_TRUE(table.rows[2].values[0].best_of_paper);
  EXPECT_TRUE(section.tables[1].paper.empty());
  ASSERT_EQ(section.curves.size(), 2U);
  EXPECT_EQ(section.curves[1].curves[0].points.size(), 17U);
  EXPECT_EQ(section.images.size(), 2U);
}

TEST_F(Report, TellsTheCommandThatMakesItAgain) {
  const auto command = [&](const ExperimentRecord& record) { return data(record).sections.at(0).command; };
  ExperimentRecord record = testing::example_record();
  EXPECT_EQ(command(record), "bdnn reproduce experiments/example.toml --data data");
  record.plan.path = "../it's/example.toml";
  record.data = "/mnt/my data";
  EXPECT_EQ(command(record), "bdnn reproduce '../it'\\''s/example.toml' --data '/mnt/my data'");
  record = testing::example_record();
  record.plan.bits = {8, 64};
  record.plan.seeds = {7};
  record.plan.methods[1] = {"a (b)", "itq", "default", {}};
  EXPECT_EQ(command(record),
            "bdnn reproduce experiments/example.toml --data data --bits 8,64 --seeds 7 --method 'UH-BDNN,a (b)'");
  std::string text = testing::kExperiment;
  text.replace(text.find("method = \"itq\""), 0, "quick = false\n");
  record = testing::example_record(text);
  EXPECT_EQ(command(record), "bdnn reproduce experiments/example.toml --data data");
  record.plan.quick = true;  // with a method that was named although it is slow
  EXPECT_EQ(command(record),
            "bdnn reproduce experiments/example.toml --data data --quick --bits 8,16 --seeds 1,2 --method UH-BDNN,ITQ");
}

TEST_F(Report, EveryFormTellsTheNumbersOfTheJson) {
  const ReportData report = data();
  const std::string html = html_of(report);
  const std::string markdown = markdown_of(report);
  const std::string csv = csv_of(report);
  const JsonValue json = JsonValue::parse(json_of(report));
  std::size_t numbers = 0;
  for (const JsonValue& table : json.array_at("experiments")[0].array_at("tables")) {
    for (const JsonValue& row : table.array_at("rows")) {
      if (const auto ours = row["ours"].as_number()) {
        const std::string shown = fmt::format("{:.2f}", *ours);
        EXPECT_TRUE(contains(html, ">" + shown + "<") || contains(html, "<td>" + shown + " <")) << shown;
        EXPECT_TRUE(contains(markdown, shown)) << shown;
        EXPECT_TRUE(contains(csv, fmt::format("{},{},{},{},", table.string_at("metric"), row.string_at("method"),
                                              row.whole_at("bits"), *ours)))
            << csv;
        ++numbers;
      }
      if (const auto difference = row["difference"].as_number()) {
        EXPECT_TRUE(contains(html, fmt::format("{}{:.2f}</span>", *difference < 0 ? "−" : "+", std::abs(*difference))));
        EXPECT_TRUE(contains(markdown, fmt::format("{:+.2f}", *difference)));
        ++numbers;
      }
    }
  }
  EXPECT_EQ(numbers, 10U);
}

TEST_F(Report, ShowsAPaperLineOnlyForMethodsOfThePaper) {
  ReportData report = data();
  ReportTable& table = report.sections[0].tables[0];
  const auto lines = [&](const std::string& text, const std::string& mark) {
    std::size_t count = 0;
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) ++count;
    return count;
  };
  std::size_t in_paper = 0;
  for (const ReportRow& row : table.rows) in_paper += row.is_in_paper();
  ASSERT_GT(in_paper, 1U);
  EXPECT_EQ(lines(markdown_of(report), "\n| paper |"), in_paper);
  EXPECT_EQ(lines(html_of(report), ">paper</span>"), in_paper);
  for (ReportValue& value : table.rows[0].values) value.paper.reset();
  EXPECT_FALSE(table.rows[0].is_in_paper());
  EXPECT_EQ(lines(markdown_of(report), "\n| paper |"), in_paper - 1);
  EXPECT_EQ(lines(html_of(report), ">paper</span>"), in_paper - 1);
}

TEST_F(Report, IsOnePageThatFetchesNothing) {
  const std::string html = html_of(data());
  for (const char* fetched : {"http://", "https://", "@import", "url(", "<link", "src=\"/", "//cdn"}) {
    EXPECT_FALSE(contains(html, fetched)) << fetched;
  }
  EXPECT_TRUE(contains(html, "src=\"data:image/png;base64,aGo=\""));
  EXPECT_TRUE(contains(html, "<img class=\"right\" alt=\"relevant, at distance 2\""));
  EXPECT_TRUE(contains(html, "<img alt=\"not relevant, at distance 4\""));
  EXPECT_TRUE(contains(html, "prefers-color-scheme: dark"));
  EXPECT_TRUE(contains(html, "commit: 1c2894e01f3a"));
}

TEST_F(Report, EscapesWhatTheResultsSay) {
  std::string text = testing::kExperiment;
  const std::string bad = "<img src=x onerror=alert(1)>|`";
  for (const char* name : {"A title", "What it is about.", "ITQ", "Table 2"}) {
    text.replace(text.find(name), std::string(name).size(), bad);
  }
  ExperimentRecord record = testing::example_record(text);
  record.facts = {bad};
  record.plan.protocol_text = bad;
  ResultsFile results(directory_ / "r.json");
  testing::add_example(results, record);
  Cell cell = results.cells().back();
  cell.environment["machine"] = bad;
  cell.finished = bad;
  cell.images = {{0, "\"><script>", bad, {{"\"><script>", 1, true}}}};
  results.add(cell);
  write_report(results, directory_.path());
  for (const char* file : {"/report.html", "/report.md", "/plots/example-mAP.svg"}) {
    const std::string out = read_whole_file(directory_.path() + file, 1 << 22);
    EXPECT_FALSE(contains(out, "<img src=x")) << file;
    EXPECT_FALSE(contains(out, "\"><script>")) << file;
    EXPECT_TRUE(contains(out, "&lt;img src=x")) << file;
  }
}

TEST_F(Report, EqualResultsGiveEqualBytes) {
  ResultsFile results(directory_ / "r.json");
  testing::add_example(results);
  write_report(results, directory_ / "a");
  write_report(ResultsFile(directory_ / "r.json"), directory_ / "b");
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_ / "a")) {
    if (!entry.is_regular_file()) continue;
    const std::string a = entry.path();
    std::string b = a;
    b.replace(directory_.path().size(), 2, "/b");
    EXPECT_EQ(read_whole_file(a, 1 << 22), read_whole_file(b, 1 << 22)) << b;
    ++files;
  }
  EXPECT_EQ(files, 8U);  // four forms, and a plot for each of two metrics and two lengths
}

TEST_F(Report, SaysWhatIsMissing) {
  ResultsFile results(directory_ / "r.json");
  const ExperimentRecord record = testing::example_record();
  results.put(record);
  EXPECT_TRUE(contains(html_of(report_data(results)), "0 of 8 cells are finished"));
  results.add(testing::example_cell(record, 1, 8, 1, .25));
  const std::string html = html_of(report_data(results));
  EXPECT_TRUE(contains(html, "1 of 8 cells are finished"));
  EXPECT_TRUE(contains(html, "<b>25.00</b>"));
  ExperimentRecord other = record;
  other.setting = "other data";
  results.put(other);
  EXPECT_TRUE(contains(html_of(report_data(results)), "0 of 8 cells are finished"));
}

TEST(ReportWords, AreWhatPeopleSay) {
  EXPECT_EQ(metric_in_words("mAP"), "Mean average precision");
  EXPECT_EQ(metric_in_words("recall@100"), "Recall among the first 100");
  EXPECT_EQ(metric_in_words("odd"), "odd");
  EXPECT_EQ(duration_in_words(4.25), "4.2 s");
  EXPECT_EQ(duration_in_words(200), "3 min 20 s");
  EXPECT_EQ(duration_in_words(4320), "1 h 12 min");
}

}  // namespace
}  // namespace bdnn
