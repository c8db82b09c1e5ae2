// The sparse operand of a small matrix with all its zeros stored, which some libraries take.
#pragma once

#include <optional>
#include <string>

#include "apps/bench/peers/peer.hpp"
#include "waco/base/buffer.hpp"

namespace waco::bench {

constexpr int64_t kMaxDenseFormBytes = int64_t{64} << 20;

/// Why the dense form is not made ("the dense form takes 512 MB"), or nullopt.
std::optional<std::string> refuse_large_dense_form(const PeerInput& input);

/// Row-major, of the problem's type; written by all threads, zeros too: a page that was never written is one
/// page of zeros for all, which the caches hold.
Buffer dense_form(const PeerInput& input);

}  // namespace waco::bench
