#include "report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/markup.h"

namespace bdnn {

// Okabe and Ito's colours, which people with any colour vision can tell apart, lighter on a dark page. Markers and
// dashes differ too, for print in black.
const char* const kPlotStyle = R"css(
.plot { --s0: #c8500a; --s1: #0067a5; --s2: #007f5c; --s3: #b0508a; --s4: #b87a00; --s5: #2e9bd6; --s6: #5c5c5c; --s7: #7b4b1a;
  --ink: #1c1c1c; --faint: #6d6d6d; --grid: #e4e2dd; --paper: #fffffd; }
@media (prefers-color-scheme: dark) { .plot { --s0: #ff8f52; --s1: #62b5f2; --s2: #3fcba0; --s3: #e79ccb; --s4: #f0b93e;
  --s5: #9adcff; --s6: #b4b4b4; --s7: #cda27a; --ink: #e8e6e1; --faint: #a3a099; --grid: #35363a; --paper: #17181b; } }
@media print { .plot { --s0: #c8500a; --s1: #0067a5; --s2: #007f5c; --s3: #b0508a; --s4: #b87a00; --s5: #2e9bd6; --s6: #5c5c5c;
  --s7: #7b4b1a; --ink: #000; --faint: #444; --grid: #ddd; --paper: #fff; } }
.plot text { fill: var(--ink); font-size: 11px; font-variant-numeric: tabular-nums; }
.plot .title { font-size: 13px; font-weight: 600; }
.plot .tick { fill: var(--faint); font-size: 10.5px; }
.plot .grid { stroke: var(--grid); stroke-width: 1; }
.plot .axis { stroke: var(--faint); stroke-width: 1; }
.plot .line { fill: none; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }
.plot .whisker { stroke-width: 1; opacity: .7; }
.plot .mark { stroke: var(--paper); stroke-width: .8; }
.plot .small { stroke: none; }
.c0 { --c: var(--s0); } .c1 { --c: var(--s1); } .c2 { --c: var(--s2); } .c3 { --c: var(--s3); }
.c4 { --c: var(--s4); } .c5 { --c: var(--s5); } .c6 { --c: var(--s6); } .c7 { --c: var(--s7); }
.plot .line, .plot .whisker { stroke: var(--c); } .plot .mark { fill: var(--c); }
)css";

namespace {

constexpr std::size_t kColours = 8;
constexpr double kWidth = 360;
constexpr double kHeight = 250;
constexpr double kLeft = 44;
constexpr double kRight = 12;
constexpr double kBottom = 40;
constexpr double kTop = 12;
constexpr double kTitle = 20;       // more at the top for a title
constexpr double kLegendLine = 18;  // more at the bottom for each line of a legend
constexpr std::size_t kLegendColumns = 3;

// Coordinates with two digits: enough for any screen, and the same text everywhere.
std::string at(double value) {
  std::string text = fmt::format("{:.2f}", value);
  const std::size_t last = text.find_last_not_of('0');
  text.resize(text[last] == '.' ? last : last + 1);
  return text == "-0" ? "0" : text;
}

// Round numbers from 0 to at least `most`: steps of 1, 2, 2.5 or 5 times a power of ten, at most six.
std::vector<double> round_ticks(double most) {
  if (!(most > 1e-9) || !std::isfinite(most)) most = 1;
  const double power = std::pow(10, std::floor(std::log10(most / 5)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.5, 2.0, 1.0}) {
    if (most / (factor * power) <= 5.0 + 1e-9) step = factor * power;
  }
  std::vector<double> ticks;
  for (int i = 0; ticks.empty() || ticks.back() < most - 1e-9 * most; ++i) ticks.push_back(i * step);
  return ticks;
}

std::string marker(std::size_t style, double x, double y, double size, const char* kind) {
  const auto shape = [&](std::initializer_list<std::pair<double, double>> corners) {
    std::string path;
    for (const auto& [dx, dy] : corners) {
      path += fmt::format("{}{} {}", path.empty() ? 'M' : 'L', at(x + size * dx), at(y + size * dy));
    }
    return fmt::format(R"(<path class="{}" d="{}Z"/>)", kind, path);
  };
  switch (style % 6) {
    case 1: return shape({{-.9, -.9}, {.9, -.9}, {.9, .9}, {-.9, .9}});
    case 2: return shape({{0, -1.2}, {1.1, .8}, {-1.1, .8}});
    case 3: return shape({{0, -1.25}, {1.25, 0}, {0, 1.25}, {-1.25, 0}});
    case 4: return shape({{0, 1.2}, {1.1, -.8}, {-1.1, -.8}});
    case 5:
      return shape({{-1.2, -.4},
                    {-.4, -.4},
                    {-.4, -1.2},
                    {.4, -1.2},
                    {.4, -.4},
                    {1.2, -.4},
                    {1.2, .4},
                    {.4, .4},
                    {.4, 1.2},
                    {-.4, 1.2},
                    {-.4, .4},
                    {-1.2, .4}});
    default: return fmt::format(R"(<circle class="{}" cx="{}" cy="{}" r="{}"/>)", kind, at(x), at(y), at(size));
  }
}

std::string dashes(std::size_t style) {
  static constexpr const char* kDashes[] = {"", "6 3", "2 3", "8 3 2 3"};
  const char* dash = kDashes[style / kColours % 4];
  return *dash == '\0' ? "" : fmt::format(R"( stroke-dasharray="{}")", dash);
}

// Where the axes lie in the picture.
class Axes {
 public:
  Axes(const Plot& plot, double top) : top_(top), bottom_(top + kHeight - kTop - kBottom) {
    double x_most = plot.x_most;
    double y_most = 0;
    for (const auto& series : plot.series) {
      for (const auto& point : series.points) {
        if (plot.x_most == 0) x_most = std::max(x_most, point.x);
        y_most = std::max({y_most, point.y, point.high});
      }
    }
    y_ticks_ = round_ticks(y_most);
    x_ticks_ = plot.x_ticks.empty() ? round_ticks(x_most) : plot.x_ticks;
    // Lengths that double, as 16, 32, 64, 128, 256, are spaced evenly.
    logarithmic_ = !plot.x_ticks.empty() && plot.x_ticks.front() > 0 && plot.x_ticks.back() >= 8 * plot.x_ticks.front();
    if (!plot.x_ticks.empty()) {
      inset_ = 14;
      x_least_ = scaled(plot.x_ticks.front());
    }
    x_span_ = scaled(x_ticks_.back()) - x_least_;
  }

  double x(double value) const {
    const double width = kWidth - kLeft - kRight - 2 * inset_;
    return kLeft + inset_ + (x_span_ > 0 ? (scaled(value) - x_least_) / x_span_ : .5) * width;
  }
  double y(double value) const { return bottom_ - value / y_ticks_.back() * (bottom_ - top_); }
  double bottom() const { return bottom_; }

  std::string svg(const Plot& plot) const {
    std::string out;
    for (const double tick : y_ticks_) {
      out += fmt::format(R"(<line class="{}" x1="{}" x2="{}" y1="{}" y2="{}"/>)", tick == 0 ? "axis" : "grid",
                         at(kLeft), at(kWidth - kRight), at(y(tick)), at(y(tick)));
      out += fmt::format(R"(<text class="tick" x="{}" y="{}" text-anchor="end">{}</text>)", at(kLeft - 6),
                         at(y(tick) + 3.5), at(tick));
    }
    for (const double tick : x_ticks_) {
      out += fmt::format(R"(<line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/>)", at(x(tick)), at(x(tick)),
                         at(bottom_), at(bottom_ + 4));
      out += fmt::format(R"(<text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>)", at(x(tick)),
                         at(bottom_ + 15), at(tick));
    }
    out += fmt::format(R"(<text x="{}" y="{}" text-anchor="middle">{}</text>)", at((kLeft + kWidth - kRight) / 2),
                       at(bottom_ + 32), escaped(plot.x_label));
    const std::string middle = at((top_ + bottom_) / 2);
    out += fmt::format(R"x(<text x="11" y="{}" text-anchor="middle" transform="rotate(-90 11 {})">{}</text>)x", middle,
                       middle, escaped(plot.y_label));
    return out + "\n";
  }

 private:
  double scaled(double value) const { return logarithmic_ ? std::log2(std::max(value, 1e-9)) : value; }

  double top_;
  double bottom_;
  bool logarithmic_ = false;
  double inset_ = 0;
  double x_least_ = 0;
  double x_span_ = 1;
  std::vector<double> x_ticks_;
  std::vector<double> y_ticks_;
};

std::string svg_of(const PlotSeries& series, const Axes& axes, bool markers) {
  std::string out =
      fmt::format(R"(<g class="series c{}" data-series="{}">)", series.style % kColours, escaped(series.name));
  std::string path;
  for (const auto& point : series.points) {
    path += fmt::format("{}{} {}", path.empty() ? 'M' : 'L', at(axes.x(point.x)), at(axes.y(point.y)));
  }
  out += fmt::format(R"(<path class="line" d="{}"{}/>)", path, dashes(series.style));
  for (const auto& point : series.points) {
    const double x = axes.x(point.x);
    if (point.high > point.low) {
      out += fmt::format(R"(<line class="whisker" x1="{}" x2="{}" y1="{}" y2="{}"/>)", at(x), at(x),
                         at(axes.y(point.low)), at(axes.y(point.high)));
    }
    out += fmt::format(R"(<g class="point" data-x="{}" data-y="{}"><title>{}</title>{}</g>)", at(x),
                       at(axes.y(point.y)), escaped(point.note),
                       markers ? marker(series.style, x, axes.y(point.y), 3.6, "mark")
                               : marker(series.style, x, axes.y(point.y), 1.9, "mark small"));
  }
  return out + "</g>\n";
}

// The series in reverse, so that the first, which matters most, is drawn over the others.
std::string all_series(const Plot& plot, const Axes& axes) {
  std::string out;
  for (auto series = plot.series.rbegin(); series != plot.series.rend(); ++series) {
    if (!series->points.empty()) out += svg_of(*series, axes, plot.markers);
  }
  return out;
}

std::string key_at(std::size_t style, double x, double y) {
  return fmt::format(R"(<g class="c{}"><path class="line" d="M{} {}H{}"{}/>{}</g>)", style % kColours, at(x), at(y),
                     at(x + 22), dashes(style), marker(style, x + 11, y, 3.6, "mark"));
}

std::string legend(const Plot& plot, double top) {
  std::string out;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const double x = kLeft + static_cast<double>(i % kLegendColumns) * (kWidth - kLeft) / kLegendColumns;
    const double y = top + static_cast<double>(i / kLegendColumns) * kLegendLine;
    out += key_at(plot.series[i].style, x, y);
    out += fmt::format(R"(<text x="{}" y="{}">{}</text>)", at(x + 28), at(y + 4), escaped(plot.series[i].name));
  }
  return out + "\n";
}

}  // namespace

std::string inline_svg(const Plot& plot) {
  const Axes axes(plot, kTop);
  return fmt::format(R"(<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">)", at(kWidth), at(kHeight),
                     escaped(plot.y_label + " over " + plot.x_label)) +
         "\n" + axes.svg(plot) + all_series(plot, axes) + "</svg>";
}

std::string standalone_svg(const Plot& plot) {
  const double top = kTop + (plot.title.empty() ? 0 : kTitle);
  const Axes axes(plot, top);
  const double lines = std::ceil(static_cast<double>(plot.series.size()) / kLegendColumns);
  const double height = axes.bottom() + kBottom + lines * kLegendLine + 4;
  std::string out = fmt::format(
      R"(<svg class="plot" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" width="{}" height="{}" font-family="system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', sans-serif">)",
      at(kWidth), at(height), at(2 * kWidth), at(2 * height));
  out += fmt::format("\n<style>{}</style>\n", kPlotStyle);
  out += fmt::format(R"x(<rect width="{}" height="{}" fill="var(--paper)"/>)x", at(kWidth), at(height)) + "\n";
  if (!plot.title.empty()) {
    out += fmt::format(R"(<text class="title" x="{}" y="18">{}</text>)", at(kLeft), escaped(plot.title)) + "\n";
  }
  return out + axes.svg(plot) + all_series(plot, axes) + legend(plot, axes.bottom() + kBottom + 6) + "</svg>\n";
}

std::string legend_key(std::size_t style) {
  return R"(<svg class="plot key" viewBox="0 0 26 12" aria-hidden="true">)" + key_at(style, 2, 6) + "</svg>";
}

}  // namespace bdnn
