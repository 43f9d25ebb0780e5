// bdnn: learned binary codes for vectors. Includes all public headers:
//
//     bdnn::Vectors x = bdnn::load_vectors("train.fvecs");
//     bdnn::Model model = bdnn::train(x, {.method = "itq", .bits = 32});
//     bdnn::Codes codes = bdnn::encode(model, x);
//     auto neighbours = bdnn::search(codes, codes, {.k = 5});
//     for (auto [id, distance] : neighbours[0]) { ... }
#pragma once

#include "bdnn/codes.h"
#include "bdnn/datasets.h"
#include "bdnn/diagnostics.h"
#include "bdnn/encode.h"
#include "bdnn/error.h"
#include "bdnn/experiment.h"
#include "bdnn/features.h"
#include "bdnn/ground_truth.h"
#include "bdnn/index.h"
#include "bdnn/methods.h"
#include "bdnn/metrics.h"
#include "bdnn/model.h"
#include "bdnn/progress.h"
#include "bdnn/protocol.h"
#include "bdnn/rank_by.h"
#include "bdnn/rerank.h"
#include "bdnn/results.h"
#include "bdnn/scores.h"
#include "bdnn/search.h"
#include "bdnn/spherical.h"
#include "bdnn/vectors.h"
#include "bdnn/version.h"
