// Line plots as SVG: static text, the same bytes for the same data.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace bdnn {

struct PlotSeries {
  std::string name;
  std::size_t style = 0;  // colour, marker and dashes; series of equal style look the same in every plot
  struct Point {
    double x = 0;
    double y = 0;
    double low = 0;  // ends of the whisker; equal: none
    double high = 0;
    std::string note;  // shown when the pointer is over the point
  };
  std::vector<Point> points;
};

struct Plot {
  std::string title;  // "" : none
  std::string x_label;
  std::string y_label;
  std::vector<double> x_ticks = {};  // empty: round numbers from 0
  double x_most = 0;                 // end of the axis; 0: the largest x
  bool markers = true;               // large ones, for few points
  std::vector<PlotSeries> series = {};
};

// For a page that defines the colours (kPlotStyle): no legend, text in the page's font.
std::string inline_svg(const Plot& plot);

// A complete file, for light and dark pages, with a legend.
std::string standalone_svg(const Plot& plot);

// The line and marker of a style, for a legend.
std::string legend_key(std::size_t style);

// CSS of the plots.
extern const char* const kPlotStyle;

}  // namespace bdnn
