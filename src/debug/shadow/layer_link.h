#pragma once
// Runs a collective for several layers of its operands at once: the declared values, the wide ones, their
// bounds. The layers of a device are sent together, so that devices exchange values once for each execution.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"
#include "reference/op.h"
#include "spmd/collectives.h"

namespace hlo::debug {

// One evaluation of a collective.
struct Layer {
  const Instruction& instruction;  // The collective, or its copy in the wide module.
  reference::Caller& caller;       // Its collectives() are the link.
  std::vector<Literal> operands;
};

// The link of the callers of all layers.
class LayerLink : public spmd::Collectives {
 public:
  // `devices` is the link to the other devices, whose table must know the instructions of all layers.
  explicit LayerLink(spmd::Collectives& devices) : devices_(devices) {}

  // Returns the results of the layers, of which the first is the declared one. All devices pass the same
  // layers. Sets the flag if another device whose values arrive has set it.
  absl::StatusOr<std::vector<Literal>> Run(absl::Span<const Layer> layers, bool& flag);

  int64_t device() const override { return devices_.device(); }
  const spmd::ExchangeTable& table() const override { return devices_.table(); }
  absl::StatusOr<spmd::Values> Meet(const Instruction& collective, spmd::Values values,
                                    Combine combine) override;
  absl::Status Send(const spmd::Route& route, spmd::Values values) override;
  absl::StatusOr<spmd::Values> Receive(const spmd::Route& route) override;
  bool emulates_xla_cpu() const override { return phase_is_declared_ && devices_.emulates_xla_cpu(); }
  void Warn(const Instruction& instruction, const std::string& message) override;

 private:
  // kCollect: Records the calls of a layer, which stops where it waits for values. kCombine: Computes the
  // results of all members. kAnswer: Returns the values that have arrived.
  enum class Phase : uint8_t { kCollect, kCombine, kAnswer };
  // The calls of a layer.
  struct Calls {
    bool meets = false;
    spmd::Values values, answer;
    std::vector<std::pair<spmd::Route, spmd::Values>> sent;
    std::optional<spmd::Route> received;
  };

  absl::StatusOr<Literal> Apply(const Layer& layer, Phase phase, size_t number);
  absl::Status SendAll(bool flag);
  absl::StatusOr<spmd::Values> MeetAll(absl::Span<const Layer> layers, bool flag);
  // Distributes values that have arrived to the layers; returns their flag.
  bool Unpack(spmd::Values packed);

  spmd::Collectives& devices_;
  Phase phase_ = Phase::kCollect;
  bool phase_is_declared_ = true;
  std::vector<Calls> calls_;  // By layer.
  size_t number_ = 0;         // The layer that runs.
  // kCombine: the values of the members in this layer, and the results.
  std::vector<spmd::Values> members_, combined_;
};

}  // namespace hlo::debug
