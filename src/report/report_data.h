// The content of a report: tables, curves and images, computed from a results file and nothing else.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiment/results_file.h"

namespace bdnn {

// One method at one length: the mean over seeds, and what the paper prints. Both in percent, unless the table's metric
// is a plain number.
struct ReportValue {
  std::optional<double> ours;  // mean
  double least = 0;            // of the seeds
  double most = 0;
  std::size_t seeds = 0;
  std::optional<double> paper;
  bool best = false;           // of ours at this length, compared with two digits
  bool best_of_paper = false;  // of the paper's

  double spread() const { return most - least; }
  // Ours, rounded to the two digits that are shown, minus the paper's.
  std::optional<double> difference() const;
};

struct ReportRow {
  std::string label;
  std::vector<ReportValue> values;  // one per length

  // Whether the paper prints a figure of this method, at any length.
  bool is_in_paper() const;
};

struct ReportTable {
  std::string metric;  // "precision@r2"
  std::string title;   // "Precision within Hamming distance 2"
  std::string paper;   // the source of the paper's figures: "Table 2"; "" if it prints none
  bool percent = true;
  std::vector<std::size_t> bits;
  std::vector<ReportRow> rows;  // the experiment's methods, then those that only the paper has
};

// Precision and recall within each Hamming distance, in percent, mean over seeds.
struct ReportCurve {
  std::string label;
  std::size_t row = 0;  // of the tables
  struct Point {
    std::size_t radius = 0;
    double precision = 0;
    double recall = 0;
  };
  std::vector<Point> points;
};
struct ReportCurves {
  std::size_t bits = 0;
  std::vector<ReportCurve> curves;
};

// Codes and training at the longest length, mean over seeds.
struct ReportCodes {
  std::string label;
  double train_seconds = 0;
  std::map<std::string, double> statistics;  // by the names of Cell::codes
};

struct ReportImages {
  std::string label;
  std::vector<ImageRow> rows;
};

struct ReportSection {
  ExperimentRecord record;
  std::size_t finished = 0;  // cells
  std::vector<ReportTable> tables;
  std::vector<ReportCurves> curves;
  std::size_t longest = 0;  // bits of the two below
  std::vector<ReportCodes> codes;
  std::vector<ReportImages> images;
  double seconds = 0;   // training and measuring of all cells
  std::string command;  // that reproduces it
  std::string times;    // "2 cells at once, 1 thread each"
};

struct ReportData {
  std::vector<ReportSection> sections;
  std::vector<std::map<std::string, std::string>> environments;  // different ones of the cells, in their order
  std::string date;                                              // of the last cell: "17 November 2026"; "" without one
};

ReportData report_data(const ResultsFile& results);

// "Mean average precision" for "mAP".
std::string metric_in_words(const std::string& metric);

// "1 h 12 min", "3 min 20 s", "4.2 s".
std::string duration_in_words(double seconds);

}  // namespace bdnn
