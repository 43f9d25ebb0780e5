#include "learn/objective.h"

#include <algorithm>
#include <cmath>

namespace bdnn {

OutputSums::OutputSums(std::size_t bits, std::size_t classes, bool independence) {
  const auto rows = static_cast<Eigen::Index>(bits);
  if (independence) hh = MatrixXd::Zero(rows, rows);
  if (classes > 1) labelled_hh = MatrixXd::Zero(rows, rows);
  class_sums = MatrixXd::Zero(rows, static_cast<Eigen::Index>(classes));
  class_sizes = VectorXd::Zero(static_cast<Eigen::Index>(classes));
}

OutputSums& OutputSums::operator*=(double factor) {
  samples *= factor;
  hh *= factor;
  labelled_hh *= factor;
  class_sums *= factor;
  class_sizes *= factor;
  squared_gap *= factor;
  differing *= factor;
  return *this;
}

OutputSums& OutputSums::operator+=(const OutputSums& other) {
  samples += other.samples;
  hh += other.hh;
  labelled_hh += other.labelled_hh;
  class_sums += other.class_sums;
  class_sizes += other.class_sizes;
  squared_gap += other.squared_gap;
  differing += other.differing;
  return *this;
}

OutputGradient::OutputGradient(std::size_t bits, std::size_t classes, bool independence) {
  const auto rows = static_cast<Eigen::Index>(bits);
  if (independence) all = MatrixXd::Zero(rows, rows);
  if (classes > 1) labelled = MatrixXd::Zero(rows, rows);
  shift = MatrixXd::Zero(rows, static_cast<Eigen::Index>(classes));
}

namespace {

// All terms but the weights', and dJ/dH, from the sums over all samples.
Terms terms_at(const OutputSums& sums, const Lambdas& lambdas, const Similarity& similarity, OutputGradient& gradient) {
  const double m = sums.samples;
  Terms terms;
  terms.similarity = similarity.evaluate(sums, gradient);

  terms.binary = lambdas.binary / (2 * m) * sums.squared_gap;
  gradient.pull += lambdas.binary / m;

  if (sums.hh.size() > 0) {
    const MatrixXd dependence = sums.hh / m - MatrixXd::Identity(sums.hh.rows(), sums.hh.cols());
    terms.independence = lambdas.independence / 2 * dependence.squaredNorm();
    gradient.all += 2 * lambdas.independence / m * dependence;
  }

  const VectorXd sum = sums.class_sums.rowwise().sum();
  terms.balance = lambdas.balance / (2 * m) * sum.squaredNorm();
  gradient.shift.colwise() += lambdas.balance / m * sum;

  terms.differing = sums.differing / (m * static_cast<double>(sum.size()));
  return terms;
}

// Small batches are cut into a few pieces, so that threads can share them; like the block, a piece depends on the
// batch alone.
std::size_t samples_per_piece(std::size_t batch) {
  return std::clamp<std::size_t>((batch + 3) / 4, 128, kSamplesPerBlock);
}

Range piece_range(std::size_t number, std::size_t piece, std::size_t batch) {
  return {number * piece, std::min(piece, batch - number * piece)};
}

}  // namespace

template <class T>
struct Objective<T>::Worker {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  std::vector<T> x;
  std::vector<std::vector<T>> h;
  std::vector<T> b;
  std::vector<T> labelled;  // h, with the unlabelled samples set to zero
  std::vector<T> delta;
  std::vector<T> scratch;
  std::vector<T> gradient;
  Matrix hh;
  Matrix labelled_hh;
  OutputSums sums{0, 1, false};
};

template <class T>
Objective<T>::Objective(const LayerSizes& sizes, const Lambdas& lambdas, const Similarity& similarity,
                        const TargetCodes& codes, std::size_t samples, Threads& threads)
    : sizes_(sizes),
      lambdas_(lambdas),
      similarity_(similarity),
      codes_(codes),
      samples_(samples),
      threads_(threads),
      workers_(static_cast<std::size_t>(threads.count())),
      kept_(sizes.count()) {}

template <class T>
Objective<T>::~Objective() = default;

template <class T>
double Objective<T>::weight_decay(const T* parameters) const {
  double sum = 0;
  sizes_.for_each_weights([&](std::size_t begin, std::size_t end, bool is_path) {
    double squares = 0;
    for (std::size_t i = begin; i < end; ++i) {
      squares += static_cast<double>(parameters[i]) * static_cast<double>(parameters[i]);
    }
    sum += (is_path ? lambdas_.of_path() : lambdas_.weights) / 2 * squares;
  });
  return similarity_.weight_decay() + sum;
}

template <class T>
std::vector<T*> Objective<T>::kept_at(std::size_t first) {
  std::vector<T*> h;
  for (std::size_t l = 0; l < kept_.size(); ++l) h.push_back(kept_[l].data() + first * sizes_.outputs(l));
  return h;
}

template <class T>
OutputSums Objective<T>::forward(const LayerStack<T>& stack, const Batch<T>& batch, Keep keep, const Visit& visit) {
  const std::size_t bits = sizes_.bits();
  const std::size_t classes = similarity_.classes();
  const auto class_of = similarity_.class_of();
  const std::size_t tile = samples_per_tile(sizes_.dimension());
  const std::size_t piece = samples_per_piece(batch.size);
  if (keep == Keep::activations) {
    for (std::size_t l = 0; l < kept_.size(); ++l) kept_[l].resize(batch.size * sizes_.outputs(l));
  }
  const auto add_tile = [&](Worker& own, std::size_t first, std::size_t count) {
    std::vector<T*> h;
    if (keep == Keep::activations) {
      h = kept_at(first);
    } else {
      own.h.resize(sizes_.count());
      for (std::size_t l = 0; l < sizes_.count(); ++l) {
        own.h[l].resize(tile * sizes_.outputs(l));
        h.push_back(own.h[l].data());
      }
    }
    stack.forward(batch.load(first, count, own.x), count, h);
    const T* outputs = h.back();
    if (visit) visit(first, count, outputs);
    if (has_independence()) add_gram_lower(outputs, bits, bits, count, own.hh.data(), bits);
    if (classes > 1) own.labelled.assign(outputs, outputs + bits * count);
    own.b.resize(bits);
    double gap = 0;
    std::size_t differing = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t place = batch.order == nullptr ? first + i : batch.order[first + i];
      const std::size_t own_class = classes > 1 ? static_cast<std::size_t>(class_of[place]) : 0;
      const T* sample = outputs + i * bits;
      codes_.unpack(place, own.b.data());
      double* sum = own.sums.class_sums.data() + own_class * bits;
      T sample_gap = 0;
      for (std::size_t k = 0; k < bits; ++k) {
        const T difference = sample[k] - own.b[k];
        sample_gap += difference * difference;
        differing += (sample[k] >= 0) != (own.b[k] > 0) ? 1 : 0;
        sum[k] += static_cast<double>(sample[k]);
      }
      gap += static_cast<double>(sample_gap);
      own.sums.class_sizes[static_cast<Eigen::Index>(own_class)] += 1;
      if (own_class + 1 == classes && classes > 1) std::fill_n(own.labelled.data() + i * bits, bits, T{0});
    }
    if (classes > 1) add_gram_lower(own.labelled.data(), bits, bits, count, own.labelled_hh.data(), bits);
    own.sums.squared_gap += gap;
    own.sums.differing += static_cast<double>(differing);
    own.sums.samples += static_cast<double>(count);
  };

  OutputSums total = no_sums();
  TreeSum<OutputSums> sums(total);
  threads_.in_order((batch.size + piece - 1) / piece,
                    [&](std::size_t number, int worker) {
                      Worker& own = workers_[static_cast<std::size_t>(worker)];
                      own.sums = no_sums();
                      own.hh = own.sums.hh.template cast<T>();
                      own.labelled_hh = own.sums.labelled_hh.template cast<T>();
                      for_each_tile(piece_range(number, piece, batch.size), tile,
                                    [&](std::size_t first, std::size_t count) { add_tile(own, first, count); });
                      own.sums.hh = own.hh.template cast<double>();
                      own.sums.labelled_hh = own.labelled_hh.template cast<double>();
                    },
                    [&](std::size_t, int worker) {
                      sums.add([&](OutputSums& sum) { sum = workers_[static_cast<std::size_t>(worker)].sums; });
                    });
  if (const OutputSums* sum = sums.total()) total += *sum;
  mirror_lower_half(total.hh);
  mirror_lower_half(total.labelled_hh);
  return total;
}

template <class T>
template <class Sum>
void Objective<T>::backward(const LayerStack<T>& stack, const Batch<T>& batch, const OutputGradient& at_outputs,
                            Sum* gradient) {
  const std::size_t bits = sizes_.bits();
  const std::size_t classes = similarity_.classes();
  const auto class_of = similarity_.class_of();
  const std::size_t tile = samples_per_tile(sizes_.dimension());
  const std::size_t piece = samples_per_piece(batch.size);
  // A batch's gradient, like its sums, represents all samples.
  const double scale = static_cast<double>(samples_) / static_cast<double>(batch.size);
  using Matrix = typename Worker::Matrix;
  const Matrix all_matrix = (scale * at_outputs.all).template cast<T>();
  const auto all =
      has_independence() ? PackedMatrix<T>::from_columns(all_matrix.data(), bits, bits, bits) : PackedMatrix<T>();
  const Matrix labelled_matrix = (scale * at_outputs.labelled).template cast<T>();
  const auto labelled =
      classes > 1 ? PackedMatrix<T>::from_columns(labelled_matrix.data(), bits, bits, bits) : PackedMatrix<T>();
  const Matrix shift = (scale * at_outputs.shift).template cast<T>();
  const T pull = static_cast<T>(scale * at_outputs.pull);

  const auto add_tile = [&](Worker& own, std::size_t first, std::size_t count) {
    const std::vector<T*> h = kept_at(first);
    const T* outputs = h.back();
    own.delta.assign(bits * count, T{0});
    if (has_independence()) multiply(all, outputs, count, bits, own.delta.data(), bits);
    if (classes > 1) {
      own.scratch.resize(bits * count);
      multiply(labelled, outputs, count, bits, own.scratch.data(), bits);
    }
    own.b.resize(bits);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t place = batch.order == nullptr ? first + i : batch.order[first + i];
      const std::size_t own_class = classes > 1 ? static_cast<std::size_t>(class_of[place]) : 0;
      codes_.unpack(place, own.b.data());
      const T* sample = outputs + i * bits;
      T* delta = own.delta.data() + i * bits;
      const T* own_shift = shift.data() + own_class * bits;
      for (std::size_t k = 0; k < bits; ++k) delta[k] += pull * (sample[k] - own.b[k]) + own_shift[k];
      if (own_class + 1 < classes) {
        for (std::size_t k = 0; k < bits; ++k) delta[k] += own.scratch[i * bits + k];
      }
    }
    if (!batch_gradient_.empty()) {
      const T* further = batch_gradient_.data() + first * bits;
      for (std::size_t i = 0; i < bits * count; ++i) own.delta[i] += further[i];
    }
    stack.backward(batch.load(first, count, own.x), count, h, own.delta, own.scratch, own.gradient.data());
  };

  auto& sums = std::get<GradientTree<Sum>>(gradient_trees_);
  sums.clear();
  threads_.in_order((batch.size + piece - 1) / piece,
                    [&](std::size_t number, int worker) {
                      Worker& own = workers_[static_cast<std::size_t>(worker)];
                      own.gradient.assign(sizes_.parameters(), T{0});
                      for_each_tile(piece_range(number, piece, batch.size), tile,
                                    [&](std::size_t first, std::size_t count) { add_tile(own, first, count); });
                    },
                    [&](std::size_t, int worker) {
                      const auto& partial = workers_[static_cast<std::size_t>(worker)].gradient;
                      sums.add([&](GradientSum<Sum>& sum) { sum.values.assign(partial.begin(), partial.end()); });
                    });
  std::fill_n(gradient, sizes_.parameters(), Sum{0});
  if (const GradientSum<Sum>* sum = sums.total()) std::copy(sum->values.begin(), sum->values.end(), gradient);
}

template <class T>
template <class Sum>
Terms Objective<T>::evaluate(const T* parameters, const Batch<T>& batch, Sum* gradient, OutputSums* running,
                             double blend, const OutputTerm<T>& own_term) {
  const LayerStack<T> stack(sizes_, parameters);
  OutputSums sums = forward(stack, batch, Keep::activations, {});
  sums *= static_cast<double>(samples_) / static_cast<double>(batch.size);
  if (running != nullptr) {
    sums *= blend;
    *running *= 1 - blend;
    *running += sums;
  }
  OutputGradient at_outputs(sizes_.bits(), similarity_.classes(), has_independence());
  Terms terms = terms_at(running != nullptr ? *running : sums, lambdas_, similarity_, at_outputs);
  terms.weights = weight_decay(parameters);
  batch_gradient_.assign(own_term ? batch.size * sizes_.bits() : 0, T{0});
  if (own_term) terms.of_batch = own_term(kept_.back().data(), batch.size, batch_gradient_.data());
  backward(stack, batch, at_outputs, gradient);
  sizes_.for_each_weights([&](std::size_t begin, std::size_t end, bool is_path) {
    const auto decay = static_cast<Sum>(is_path ? lambdas_.of_path() : lambdas_.weights);
    for (std::size_t i = begin; i < end; ++i) gradient[i] += decay * static_cast<Sum>(parameters[i]);
  });
  return terms;
}

template <class T>
Terms Objective<T>::evaluate(const T* parameters, const Batch<T>& batch, const Visit& visit) {
  const LayerStack<T> stack(sizes_, parameters);
  OutputGradient unused(sizes_.bits(), similarity_.classes(), has_independence());
  OutputSums sums = forward(stack, batch, Keep::nothing, visit);
  sums *= static_cast<double>(samples_) / static_cast<double>(batch.size);
  Terms terms = terms_at(sums, lambdas_, similarity_, unused);
  terms.weights = weight_decay(parameters);
  return terms;
}

template <class T>
Batch<T> whole(const TrainingSet& set) {
  return {set.size(), nullptr, [&set](std::size_t first, std::size_t count, std::vector<T>& scratch) -> const T* {
            scratch.resize(count * set.dimension());
            set.load(first, count, scratch.data());
            return scratch.data();
          }};
}

template class Objective<float>;
template class Objective<double>;
template Terms Objective<float>::evaluate(const float*, const Batch<float>&, float*, OutputSums*, double,
                                          const OutputTerm<float>&);
template Terms Objective<float>::evaluate(const float*, const Batch<float>&, double*, OutputSums*, double,
                                          const OutputTerm<float>&);
template Terms Objective<double>::evaluate(const double*, const Batch<double>&, double*, OutputSums*, double,
                                           const OutputTerm<double>&);
template Batch<float> whole(const TrainingSet& set);
template Batch<double> whole(const TrainingSet& set);

}  // namespace bdnn
