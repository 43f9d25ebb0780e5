// The README's example, whole: usage is consumer VECTORS.
#include <bdnn/bdnn.h>

#include <iostream>

int main(int, char** argv) {
  bdnn::Vectors x = bdnn::load_vectors(argv[1]);
  bdnn::Model model = bdnn::train(x, {.method = "itq", .bits = 32});
  bdnn::Codes codes = bdnn::encode(model, x);
  auto neighbours = bdnn::search(codes, codes, {.k = 5});
  for (auto [id, distance] : neighbours[0]) std::cout << "vector " << id << " differs in " << distance << " bits\n";
}
