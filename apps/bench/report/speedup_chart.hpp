// The sorted speedup curves of the WACO paper's Figure 13, as an inline SVG drawing.
#pragma once

#include <string>
#include <vector>

namespace waco::bench {

/// One curve: our plan's speedup over one contestant on each matrix.
struct SpeedupCurve {
  std::string name;
  std::vector<std::pair<double, std::string>> points;  ///< (speedup, matrix), in any order
};

/// An <svg> element: matrices from left to right sorted by speedup for each curve, speedups upwards on a
/// logarithmic axis, a line at 1. Colours come from the CSS classes c0, c1, ... of the page. Empty curves are
/// left out.
std::string speedup_chart(const std::vector<SpeedupCurve>& curves);

/// Text as it may stand inside HTML and its attributes.
std::string escape_html(const std::string& text);

}  // namespace waco::bench
