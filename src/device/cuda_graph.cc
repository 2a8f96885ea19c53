#include "device/cuda_graph.h"

#include <cuda_runtime_api.h>

#include "base/status.h"
#include "device/status.h"

namespace hlo::device {
namespace {

class CudaGraph : public GpuGraph {
 public:
  explicit CudaGraph(cudaStream_t stream) : stream_(stream) {}
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  ~CudaGraph() override {
    if (runnable_ == nullptr) return;
    cudaStreamSynchronize(stream_);  // The graph may still be running.
    cudaGraphExecDestroy(runnable_);
  }

  absl::Status Record(const std::function<absl::Status()>& work) {
    HLO_RETURN_IF_ERROR(
        CudaStatus(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "recording a graph"));
    absl::Status recorded = work();
    cudaGraph_t graph = nullptr;
    recorded.Update(CudaStatus(cudaStreamEndCapture(stream_, &graph), "recording a graph"));
    if (recorded.ok())
      recorded.Update(CudaStatus(cudaGraphInstantiateWithFlags(&runnable_, graph, 0), "making a graph"));
    if (graph != nullptr) cudaGraphDestroy(graph);
    return recorded.ok() ? recorded : absl::UnimplementedError(recorded.message());
  }

  absl::Status Run() override { return CudaStatus(cudaGraphLaunch(runnable_, stream_), "starting a graph"); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t runnable_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GpuGraph>> RecordCudaGraph(Stream stream,
                                                          const std::function<absl::Status()>& work) {
  auto graph = std::make_unique<CudaGraph>(stream.handle);
  HLO_RETURN_IF_ERROR(graph->Record(work));
  return graph;
}

}  // namespace hlo::device
