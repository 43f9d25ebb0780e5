// The yardstick of supervised hashing: codes of the class that a linear classifier predicts.
//
// Each class has a code, as far from the others as can be (learn/class_codes.h); a vector gets the code of the class
// with the largest score, by a ridge regression to the classes or by linear SVMs, one class against the rest. What
// remains is a network whose last layer holds the codes (learn/class_head.h).
//
// It ranks nothing within a class. A supervised hash that does not beat it has learned no more than its classes.
#pragma once

#include "methods/method.h"

namespace bdnn {

struct ClassifierOptions {
  enum class Kind { ridge, svm };
  Kind kind = Kind::ridge;
};

Method classifier_method();

}  // namespace bdnn
