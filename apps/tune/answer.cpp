// The exit code of a result, and its reason.
#include "apps/tune/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "waco/base/error.hpp"

namespace waco::apps {
namespace {

/// A given point that is wrong is the answer to the question asked; a searched one is merely not the winner.
ExitCode exit_code(const tune::TuneResult& result, bool points_given) {
  bool any_ok = !points_given, any_wrong = false, any_left = false;
  for (const tune::Candidate& candidate : result.candidates) {
    any_ok = any_ok || candidate.measurement.ok();
    any_wrong = any_wrong || candidate.measurement.failed_verification();
    any_left = any_left || !candidate.measured;
  }
  if (!result.complete && any_left) any_ok = true;  // nobody knows about those
  if (points_given && any_wrong) return ExitCode::kVerification;
  const bool only_predicted = result.effort == tune::Effort::kNone && result.complete;
  const bool answered = result.best && (result.best->verified || only_predicted);
  if (answered) return any_ok ? ExitCode::kDone : ExitCode::kFailed;
  return result.complete && any_wrong ? ExitCode::kVerification : ExitCode::kFailed;
}

/// What an exit code other than kDone stands for, with the reason of the first candidate that has one.
std::string fault_text(const tune::TuneResult& result, ExitCode code) {
  if (!result.complete && code == ExitCode::kFailed)
    return fmt::format("ended before a plan was verified ({})", result.stopped_by);
  const auto first = [&](auto has_it) -> const measure::Measurement* {
    const auto found = std::ranges::find_if(
        result.candidates, [&](const tune::Candidate& c) { return c.measured && has_it(c.measurement); });
    return found == result.candidates.end() ? nullptr : &found->measurement;
  };
  const auto is = [](measure::Status status) {
    return [status](const measure::Measurement& m) { return m.status == status; };
  };
  std::string_view what = "no plan could be run";
  const measure::Measurement* example = nullptr;
  if (code != ExitCode::kVerification)
    example = first([](const measure::Measurement& m) { return !m.ok(); });
  else if ((example = first(is(measure::Status::kWrong))) != nullptr)
    what = "a result was wrong";
  else if ((example = first(is(measure::Status::kCrash))) != nullptr)
    what = "a kernel crashed";
  else if ((example = first(is(measure::Status::kTimeout))) != nullptr)
    what = "a kernel did not finish in time";
  if (example == nullptr) return std::string(what);
  const std::string reason = example->message.empty() ? "" : fmt::format(" ({})", example->message);
  return fmt::format("{}: {}: {}{}", what, schedule::to_text(example->point), name(example->status), reason);
}

}  // namespace

void check_answer(const tune::TuneResult& result, const tune::TuneOptions& tuning) {
  const ExitCode code = exit_code(result, !tuning.points.empty());
  if (code != ExitCode::kDone) throw Error(code, fault_text(result, code));
}

}  // namespace waco::apps
