// Locality-sensitive hashing by random hyperplanes (Charikar, STOC 2002).
//
// Each bit is the side of a random hyperplane, h = W (x - mean), with independent normal entries in W: the chance that
// two vectors differ in a bit is their angle, seen from the data's mean, divided by pi. Nothing but the mean is
// learned.
#pragma once

#include "methods/method.h"

namespace bdnn {

struct LshOptions {
  bool centre = true;  // hyperplanes through the data's mean; false: through the origin
};

Method lsh_method();

}  // namespace bdnn
