// PCA hashing (Wang, Kumar and Chang, CVPR 2010) and its randomly rotated form (Gong and Lazebnik, CVPR 2011).
//
// pca:     h = V^T (x - mean), V the L leading principal directions. Later bits carry less variance than earlier ones.
// pca-rr:  h = R V^T (x - mean) with a random rotation R, which gives every bit its share of the variance.
#pragma once

#include "methods/method.h"

namespace bdnn {

Method pca_method();
Method pca_rr_method();

}  // namespace bdnn
