// Whether a result answers what was asked.
#pragma once

#include "waco/tune/tune.hpp"

namespace waco::apps {

/// Throws an Error, with the exit code and a line for people, where it does not: no plan was found or could
/// be run, or a given one is wrong.
void check_answer(const tune::TuneResult& result, const tune::TuneOptions& tuning);

}  // namespace waco::apps
