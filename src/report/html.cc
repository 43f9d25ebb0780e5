#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/with_commas.h"
#include "data/png.h"
#include "report/html_template.h"
#include "report/markup.h"
#include "report/section_plots.h"

namespace bdnn {
namespace {

// A page being written, with numbers for its tables and figures.
class Page {
 public:
  explicit Page(const ReportData& report) : report_(report) {}

  std::string html() {
    const std::string title = title_in_words();
    out_ = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    out_ += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    add("<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n<main>\n", escaped(title), kPlotStyle, kReportStyle);
    header(title);
    for (std::size_t s = 0; s < report_.sections.size(); ++s) section(report_.sections[s], s);
    environment();
    out_ += "</main>\n<script>" + std::string(kReportScript) + "</script>\n</body>\n</html>\n";
    return std::move(out_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    out_ += fmt::format(format, std::forward<Args>(args)...);
  }

  std::string title_in_words() const {
    if (report_.sections.size() == 1) return report_.sections.front().record.plan.title;
    return fmt::format("Learned binary codes: {} experiments", report_.sections.size());
  }

  void header(const std::string& title) {
    add("<header>\n<h1>{}</h1>\n", escaped(title));
    add("<p class=\"byline\">{}{}</p>\n", escaped(report_.date),
        report_.environments.empty() || report_.environments.front().count("program") == 0
            ? ""
            : " · " + escaped(report_.environments.front().at("program")));
    out_ += "</header>\n";
    if (report_.sections.size() < 2) return;
    out_ += "<nav><ol>\n";
    for (std::size_t s = 0; s < report_.sections.size(); ++s) {
      add("<li><a href=\"#experiment{}\">{}</a></li>\n", s + 1, escaped(report_.sections[s].record.plan.title));
    }
    out_ += "</ol></nav>\n";
  }

  void section(const ReportSection& section, std::size_t number) {
    const ExperimentPlan& plan = section.record.plan;
    add("<section id=\"experiment{}\">\n", number + 1);
    if (report_.sections.size() > 1) add("<h2>{}</h2>\n", escaped(plan.title));
    if (!plan.description.empty()) add("<p class=\"lead\">{}</p>\n", escaped(plan.description));
    if (plan.quick) {
      out_ += "<p class=\"note\">A quick run on a small part of the data: a preview, not for comparison.</p>\n";
    }
    if (section.finished < plan.cells()) {
      add("<p class=\"note\">{} of {} cells are finished; tables show – for the others.</p>\n",
          with_commas(section.finished), with_commas(plan.cells()));
    }
    for (const auto& values : section.tables) table(section, values);
    plots(section);
    images(section);
    codes(section);
    settings(section);
    out_ += "</section>\n";
  }

  static std::string seeds_in_words(const ExperimentPlan& plan) {
    if (plan.seeds.size() == 1) return "one seed";
    return fmt::format("mean of {} seeds, with the spread (largest − smallest) beside it", plan.seeds.size());
  }

  void table(const ReportSection& section, const ReportTable& values) {
    const bool compared = !values.paper.empty();
    // A phone shows spread and difference on lines of their own.
    const char* spread = section.record.plan.seeds.size() > 1 ? "<span class=\"sub phone\">spread</span>" : "";
    add("<figure>\n<figcaption><b>Table {}.</b> {}{}: {}.", ++tables_, escaped(values.title),
        values.percent ? ", in percent" : "", seeds_in_words(section.record.plan));
    if (compared) add(" Below it the paper’s figure ({}) and our difference from it.", escaped(values.paper));
    out_ += " Bold: the best at that length.</figcaption>\n";
    out_ += "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Method</th>";
    for (const std::size_t bits : values.bits) add("<th scope=\"col\">{} bits</th>", bits);
    out_ += "</tr></thead>\n<tbody>\n";
    for (const auto& row : values.rows) {
      const bool in_paper = row.is_in_paper();
      add("<tr><th scope=\"row\">{}{}{}</th>", escaped(row.label), spread,
          in_paper ? "<span class=\"sub\">paper</span><span class=\"sub phone\">difference</span>" : "");
      for (const auto& value : row.values) add("<td>{}</td>", cell(value, in_paper));
      out_ += "</tr>\n";
    }
    out_ += "</tbody>\n</table></div>\n</figure>\n";
  }

  static std::string bold_if(bool best, const std::string& text) { return best ? "<b>" + text + "</b>" : text; }

  static std::string cell(const ReportValue& value, bool compared) {
    std::string out = value.ours ? bold_if(value.best, fmt::format("{:.2f}", *value.ours)) : "–";
    if (value.seeds > 1) out += fmt::format(" <span class=\"spread\">{:.2f}</span>", value.spread());
    if (!compared) return out;
    out += "<span class=\"sub\">";
    out += value.paper ? bold_if(value.best_of_paper, fmt::format("{:.2f}", *value.paper)) : "–";
    if (const auto difference = value.difference()) {
      out += fmt::format(" <span class=\"diff\">{}{:.2f}</span>", *difference < 0 ? "−" : "+", std::abs(*difference));
    }
    return out + "</span>";
  }

  void figure(const Plot& plot, const std::string& caption) {
    add("<figure class=\"below\">\n{}\n<figcaption>{}</figcaption>\n</figure>\n", inline_svg(plot), caption);
  }

  static bool has_points(const Plot& plot) {
    return std::any_of(plot.series.begin(), plot.series.end(), [](const PlotSeries& s) { return !s.points.empty(); });
  }

  void plots(const ReportSection& section) {
    if (section.finished == 0) return;
    out_ += "<ul class=\"legend\">\n";
    for (std::size_t m = 0; m < section.record.plan.methods.size(); ++m) {
      const std::string label = escaped(section.record.plan.methods[m].label);
      add("<li><button type=\"button\" aria-pressed=\"true\" data-series=\"{}\">{}{}</button></li>\n", label,
          legend_key(m), label);
    }
    out_ += "</ul>\n<div class=\"plots\">\n";
    for (const auto& values : section.tables) {
      const Plot plot = plot_of(section, values);
      if (has_points(plot)) figure(plot, fmt::format("<b>Figure {}.</b> {}", ++figures_, escaped(values.title)));
    }
    for (const auto& curves : section.curves) {
      figure(plot_of(section, curves),
             fmt::format("<b>Figure {}.</b> Precision and recall, {} bits", ++figures_, curves.bits));
    }
    out_ +=
        "</div>\n<p class=\"quiet\">Points of precision and recall stand for Hamming distances 0, 1, 2, …; a query "
        "that finds nothing counts as "
        "precision 0, so long codes start low. Whiskers reach from the worst to the best seed.</p>\n";
  }

  static std::string img(const std::string& png, const char* right, const std::string& text) {
    if (!is_base64(png)) return "";
    return fmt::format("<img{} alt=\"{}\" src=\"data:image/png;base64,{}\">", right, escaped(text), png);
  }

  void images(const ReportSection& section) {
    if (section.images.empty()) return;
    add("<figure>\n<figcaption><b>Figure {}.</b> Queries and the ten images whose codes of {} bits are nearest, by "
        "method; "
        "framed: relevant to the query; faded: not.</figcaption>\n",
        ++figures_, section.longest);
    const auto& queries = section.images.front().rows;
    for (std::size_t q = 0; q < queries.size(); ++q) {
      add("<div class=\"query\"><div>{}{}</div><div>\n", img(queries[q].image, "", "query"), escaped(queries[q].label));
      for (const auto& method : section.images) {
        if (q >= method.rows.size()) continue;
        add("<div class=\"found\"><span>{}</span>", escaped(method.label));
        for (const auto& found : method.rows[q].found) {
          out_ += img(found.image, found.right ? " class=\"right\"" : "",
                      fmt::format("{}, at distance {}", found.right ? "relevant" : "not relevant", found.distance));
        }
        out_ += "</div>\n";
      }
      out_ += "</div></div>\n";
    }
    out_ += "</figure>\n";
  }

  void codes(const ReportSection& section) {
    if (section.codes.empty()) return;
    add("<figure>\n<figcaption><b>Table {}.</b> The codes of {} bits, mean over seeds: training time; different codes "
        "among all; entropy of the "
        "codes; how far the least balanced bit is from half ones; correlation of two bits, mean and largest; mean "
        "distance of two "
        "codes.</figcaption>\n",
        ++tables_, section.longest);
    out_ += "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Method</th>";
    for (const char* column : {"training", "distinct", "entropy", "imbalance", "correlation", "largest", "distance"}) {
      add("<th scope=\"col\">{}</th>", column);
    }
    out_ += "</tr></thead>\n<tbody>\n";
    for (const auto& row : section.codes) {
      const auto of = [&](const char* name) {
        const auto found = row.statistics.find(name);
        return found == row.statistics.end() ? 0 : found->second;
      };
      const double share = of("count") > 0 ? 100 * of("distinct") / of("count") : 0;
      add("<tr><th scope=\"row\">{}</th><td>{}</td><td>{:.1f} %</td><td>{:.1f} "
          "bits</td><td>{:.3f}</td><td>{:.3f}</td><td>{:.3f}</td>"
          "<td>{:.1f}</td></tr>\n",
          escaped(row.label), duration_in_words(row.train_seconds), share, of("entropy"), of("largest_imbalance"),
          of("mean_correlation"), of("largest_correlation"), of("mean_distance"));
    }
    out_ += "</tbody>\n</table></div>\n</figure>\n";
  }

  void settings(const ReportSection& section) {
    const ExperimentPlan& plan = section.record.plan;
    out_ += "<h3>Setting</h3>\n<ul class=\"facts\">\n";
    for (const auto& fact : section.record.facts) add("<li>{}</li>\n", escaped(fact));
    std::string seeds;
    for (const std::uint64_t seed : plan.seeds) seeds += fmt::format("{}{}", seeds.empty() ? "" : ", ", seed);
    add("<li>training seeds: {}</li>\n", seeds);
    add("<li>{} models trained and measured in {} of work ({})</li>\n", with_commas(section.finished),
        duration_in_words(section.seconds), escaped(section.times));
    out_ += "</ul>\n";
    add("<pre><code>{}</code></pre>\n", escaped(section.command));
    add("<details><summary>The experiment and its protocol, as "
        "files</summary>\n<pre><code>{}</code></pre>\n<pre><code>{}</code></pre>\n"
        "</details>\n",
        escaped(plan.text), escaped(plan.protocol_text));
  }

  void environment() {
    out_ += "<footer>\n";
    for (const auto& environment : report_.environments) {
      std::string line;
      for (const auto& [name, value] : environment) {
        line += fmt::format("{}{}: {}", line.empty() ? "" : " · ", escaped(name), escaped(value));
      }
      add("<p>{}</p>\n", line);
    }
    out_ += "<p>Written by <code>bdnn reproduce</code> from its results file alone.</p>\n</footer>\n";
  }

  const ReportData& report_;
  std::string out_;
  int tables_ = 0;
  int figures_ = 0;
};

}  // namespace

std::string html_of(const ReportData& report) { return Page(report).html(); }

}  // namespace bdnn
