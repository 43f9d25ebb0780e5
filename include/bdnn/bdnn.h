// bdnn: learned binary codes for vectors. Everything that a program needs:
//
//     bdnn::Vectors x = bdnn::load_vectors("train.fvecs");
//     bdnn::Model model = bdnn::train(x, {.method = "itq", .bits = 32});
//     bdnn::Codes codes = bdnn::encode(model, x);
//     for (auto [id, distance] : bdnn::search(codes, codes, {.k = 5}).front()) { ... }
#pragma once

#include "bdnn/codes.h"
#include "bdnn/error.h"
#include "bdnn/methods.h"
#include "bdnn/model.h"
#include "bdnn/progress.h"
#include "bdnn/search.h"
#include "bdnn/vectors.h"
#include "bdnn/version.h"
