// Query images and their nearest results, for visual inspection.
#pragma once

#include <vector>

#include "bdnn/codes.h"
#include "experiment/experiment_plan.h"
#include "experiment/results_file.h"
#include "experiment/testbed.h"

namespace bdnn {

// The ten nearest images of six queries that are evenly spaced among all.
std::vector<ImageRow> image_rows(const ExperimentPlan& plan, const Dataset& dataset, const Testbed& testbed,
                                 const Testbed::Measured& measured);

}  // namespace bdnn
