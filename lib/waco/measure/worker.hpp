// The worker's side of isolated measuring: a program that serves one parent over an inherited channel.
#pragma once

namespace waco::measure {

/// Serves commands from descriptor kChannelDescriptor about the tensor in kTensorDescriptor until the parent
/// is gone. Returns the exit status.
int run_worker();

}  // namespace waco::measure
