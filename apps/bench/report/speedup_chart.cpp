// Scales, axes, curves and legend of the drawing.
#include "apps/bench/report/speedup_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace waco::bench {
namespace {

constexpr double kWidth = 860, kHeight = 420;
constexpr double kLeft = 64, kRight = 660, kTop = 16, kBottom = 360;  ///< of the plotting area
constexpr double kLegendLine = 20;

/// From speedups (log scale) and ranks to the drawing's coordinates.
class Scale {
 public:
  explicit Scale(const std::vector<SpeedupCurve>& curves) {
    for (const SpeedupCurve& curve : curves) {
      longest_ = std::max(longest_, curve.points.size());
      for (const auto& [speedup, matrix] : curve.points) {
        low_ = std::min(low_, speedup);
        high_ = std::max(high_, speedup);
      }
    }
    low_ = std::pow(2, std::floor(std::log2(low_)));
    high_ = std::pow(2, std::ceil(std::log2(high_)));
  }

  double y(double speedup) const {
    return kBottom - (kBottom - kTop) * std::log(speedup / low_) / std::log(high_ / low_);
  }
  /// Every curve spans the whole width, whatever the number of its matrices.
  static double x(size_t rank, size_t count) {
    const double share = count > 1 ? static_cast<double>(rank) / static_cast<double>(count - 1) : 0.5;
    return kLeft + (kRight - kLeft) * share;
  }
  double low() const { return low_; }
  double high() const { return high_; }
  size_t longest() const { return longest_; }

 private:
  double low_ = 0.5, high_ = 2;
  size_t longest_ = 0;
};

std::string grid(const Scale& scale) {
  std::string text;
  const double step = scale.high() / scale.low() > 64 ? 4 : 2;
  for (double at = scale.low(); at <= scale.high() * 1.001; at *= step) {
    const double y = scale.y(at);
    text += fmt::format(R"(<line class="{}" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)",
                        at == 1 ? "one" : "grid", kLeft, kRight, y, y);
    text += fmt::format(R"(<text class="tick" text-anchor="end" x="{}" y="{:.1f}">{:g}x</text>)", kLeft - 8,
                        y + 4, at);
  }
  if (scale.low() < 1 && std::fmod(std::log2(1 / scale.low()), std::log2(step)) != 0)
    text += fmt::format(R"(<line class="one" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)", kLeft, kRight,
                        scale.y(1), scale.y(1));
  return text + "\n";
}

std::string axis_labels(const Scale& scale) {
  const double middle_x = (kLeft + kRight) / 2, middle_y = (kTop + kBottom) / 2;
  return fmt::format(
             R"svg(<text class="label" text-anchor="middle" x="{}" y="{}">matrices, sorted by speedup for each curve (at most {})</text>)svg",
             middle_x, kBottom + 36, scale.longest()) +
         fmt::format(
             R"svg(<text class="label" text-anchor="middle" transform="translate(16 {}) rotate(-90)">speedup of waco over it (log scale)</text>)svg",
             middle_y) +
         "\n";
}

std::string curve_svg(SpeedupCurve curve, size_t index, const Scale& scale) {
  std::sort(curve.points.begin(), curve.points.end());
  const size_t count = curve.points.size();
  std::string path, dots;
  for (size_t n = 0; n < count; ++n) {
    const auto& [speedup, matrix] = curve.points[n];
    const double x = Scale::x(n, count), y = scale.y(speedup);
    path += fmt::format("{}{:.1f},{:.1f}", n > 0 ? " " : "", x, y);
    dots +=
        fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="2.5"><title>{} over {}: {:.2f}x</title></circle>)",
                    x, y, escape_html(matrix), escape_html(curve.name), speedup);
  }
  return fmt::format(R"(<g class="curve c{}"><polyline points="{}"/>{}</g>)", index, path, dots) + "\n";
}

std::string legend(const std::vector<SpeedupCurve>& curves) {
  std::string text;
  for (size_t n = 0; n < curves.size(); ++n) {
    const double y = kTop + kLegendLine * (static_cast<double>(n) + 0.5);
    text += fmt::format(
        R"(<g class="curve c{}"><line x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/></g><text class="legend" x="{}" y="{:.1f}">{}</text>)",
        n, kRight + 20, kRight + 44, y, y, kRight + 52, y + 4, escape_html(curves[n].name));
  }
  return text + "\n";
}

}  // namespace

std::string escape_html(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return escaped;
}

std::string speedup_chart(const std::vector<SpeedupCurve>& all) {
  std::vector<SpeedupCurve> curves;
  for (const SpeedupCurve& curve : all)
    if (!curve.points.empty()) curves.push_back(curve);
  const Scale scale(curves);
  const double height = std::max(kHeight, kTop + kLegendLine * static_cast<double>(curves.size() + 1));
  std::string text = fmt::format(
      R"(<svg viewBox="0 0 {} {}" role="img" aria-label="sorted speedups of waco over each contestant">)",
      kWidth, height);
  text += "\n" + grid(scale) + axis_labels(scale);
  for (size_t n = 0; n < curves.size(); ++n) text += curve_svg(curves[n], n, scale);
  return text + legend(curves) + "</svg>\n";
}

}  // namespace waco::bench
