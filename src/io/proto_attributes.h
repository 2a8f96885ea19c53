#pragma once
// Returns the values of attributes in serialised modules as text (text-format 8).

#include <string>

#include "absl/status/statusor.h"
#include "io/proto/hlo.pb.h"

namespace hlo::io {

// Each returns "" if the attribute is to be omitted.
std::string WindowText(const proto::Window& window);
std::string AliasText(const proto::HloInstructionProto& p);
std::string AccuracyText(const proto::ResultAccuracy& accuracy);
std::string SparsityText(const proto::SparsityConfig& config);
std::string BlockScalingText(const proto::BlockScalingConfig& config);
std::string OriginText(const proto::OriginalValueProto& origin);

// Returns InvalidArgument if a number is not a dimension.
absl::StatusOr<std::string> DimLabelsText(const proto::ConvolutionDimensionNumbers& d);
std::string PaddingText(const proto::PaddingConfig& padding);
std::string StatisticsText(const proto::StatisticsViz& statistics);

}  // namespace hlo::io
