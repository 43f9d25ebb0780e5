#include "learn/lbfgs.h"

#include <lbfgs.h>

#include <exception>
#include <memory>

#include "base/error.h"

namespace bdnn {
namespace {

struct Run {
  const std::function<double(const double*, double*)>& f;
  const std::function<void(int)>& after_iteration;
  LbfgsResult result;
  std::exception_ptr failed;  // an exception that crossed the library, which is C, would leak its memory
};

double evaluate(void* instance, const double* x, double* gradient, int n, double) {
  auto& run = *static_cast<Run*>(instance);
  ++run.result.evaluations;
  if (run.failed) return 0;
  try {
    return run.f(x, gradient);
  } catch (...) {
    run.failed = std::current_exception();
    std::fill_n(gradient, n, 0.0);
    return 0;
  }
}

int progress(void* instance, const double*, const double*, double, double, double, double, int, int k, int) {
  auto& run = *static_cast<Run*>(instance);
  if (run.failed) return 1;
  run.result.iterations = k;
  try {
    if (run.after_iteration) run.after_iteration(k);
  } catch (...) {
    run.failed = std::current_exception();
    return 1;
  }
  return 0;
}

std::string reason(int status) {
  switch (status) {
    case LBFGS_SUCCESS: return "the gradient is small";
    case LBFGS_ALREADY_MINIMIZED: return "the start is a minimum";
    case LBFGS_STOP: return "progress is small";
    case LBFGSERR_MAXIMUMITERATION: return "the limit of iterations is reached";
    default: return "no better point is found along the direction";
  }
}

}  // namespace

LbfgsResult minimise_lbfgs(std::vector<double>& x, const std::function<double(const double*, double*)>& f,
                           const LbfgsOptions& options, const std::function<void(int)>& after_iteration) {
  lbfgs_parameter_t parameters;
  lbfgs_parameter_init(&parameters);
  parameters.m = options.history;
  parameters.epsilon = options.optimality;
  parameters.past = 1;
  parameters.delta = options.progress;
  parameters.max_iterations = options.iterations;
  parameters.linesearch = LBFGS_LINESEARCH_MORETHUENTE;
  const auto size = static_cast<int>(x.size());
  const std::unique_ptr<double, void (*)(double*)> point(lbfgs_malloc(size), lbfgs_free);
  if (!point) failure("not enough memory for {} parameters", size);
  std::copy(x.begin(), x.end(), point.get());
  Run run{f, after_iteration, {}, {}};
  if (options.iterations == 0) return run.result;  // 0 would mean no limit to the library
  const int status = lbfgs(size, point.get(), &run.result.value, evaluate, progress, &run, &parameters);
  if (run.failed) std::rethrow_exception(run.failed);
  if (status == LBFGSERR_OUTOFMEMORY) {
    failure("not enough memory for a history of {} steps of {} parameters; set a smaller history", options.history,
            size);
  }
  std::copy_n(point.get(), x.size(), x.begin());
  run.result.stopped = reason(status);
  return run.result;
}

}  // namespace bdnn
