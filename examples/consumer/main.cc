// The README's example, whole: usage is consumer VECTORS.
#include <bdnn/bdnn.h>

#include <iostream>

int main(int, char** argv) {
  bdnn::Vectors x = bdnn::load_vectors(argv[1]);
  bdnn::Model model = bdnn::train(x, {.method = "itq", .bits = 32});
  bdnn::Codes codes = bdnn::encode(model, x);
  for (auto [id, distance] : bdnn::search(codes, codes, {.k = 5}).front())
    std::cout << "vector " << id << " differs from vector 0 in " << distance << " bits\n";
}
