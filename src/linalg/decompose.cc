#include "linalg/decompose.h"

#include <cblas.h>
#include <sys/mman.h>

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <mutex>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "base/random.h"

extern "C" {
void dsyevr_(const char* jobz, const char* range, const char* uplo, const int* n, double* a, const int* lda,
             const double* vl, const double* vu, const int* il, const int* iu, const double* abstol, int* m, double* w,
             double* z, const int* ldz, int* isuppz, double* work, const int* lwork, int* iwork, const int* liwork,
             int* info);
void dgesdd_(const char* jobz, const int* m, const int* n, double* a, const int* lda, double* s, double* u,
             const int* ldu, double* vt, const int* ldvt, double* work, const int* lwork, int* iwork, int* info);
void dposv_(const char* uplo, const int* n, const int* nrhs, double* a, const int* lda, double* b, const int* ldb,
            int* info);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void dtrtri_(const char* uplo, const char* diag, const int* n, double* a, const int* lda, int* info);
void dsygvx_(const int* itype, const char* jobz, const char* range, const char* uplo, const int* n, double* a,
             const int* lda, double* b, const int* ldb, const double* vl, const double* vu, const int* il,
             const int* iu, const double* abstol, int* m, double* w, double* z, const int* ldz, double* work,
             const int* lwork, int* iwork, int* ifail, int* info);
}

namespace bdnn {
namespace {

// OpenBLAS allocates a buffer on first use, and retries forever if the system refuses.
void require_buffer() {
  static bool there = false;  // under the mutex below; OpenBLAS keeps its buffer
  if (there) return;
  constexpr std::size_t kBytes = std::size_t{32} << 22;  // its BUFFER_SIZE on x86-64
  void* const address = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    failure("out of memory: OpenBLAS needs {} MB that cannot be allocated; raise the memory limit (ulimit -v)",
            kBytes >> 20);
  }
  ::munmap(address, kBytes);
  there = true;
}

// One thread inside OpenBLAS while this lives: its rounding depends on its number of threads.
class SingleThreadedBlas {
 public:
  SingleThreadedBlas() : lock_(mutex()), before_(openblas_get_num_threads()) {
    require_buffer();
    openblas_set_num_threads(1);
  }
  ~SingleThreadedBlas() { openblas_set_num_threads(before_); }
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex instance;
    return instance;
  }
  std::lock_guard<std::mutex> lock_;
  int before_;
};

// LAPACK has eigenvalues in ascending order, and leaves the signs of eigenvectors open.
Eigenpairs largest_first(const VectorXd& values, const MatrixXd& vectors) {
  Eigenpairs pairs;
  pairs.values = values.head(vectors.cols()).reverse();
  pairs.vectors = vectors.rowwise().reverse();
  for (auto column : pairs.vectors.colwise()) {
    Eigen::Index largest = 0;
    column.cwiseAbs().maxCoeff(&largest);
    if (column[largest] < 0) column = -column;
  }
  return pairs;
}

}  // namespace

MatrixXd small_product(const MatrixXd& a, const MatrixXd& b) { return a * b; }

MatrixXd small_gram(const MatrixXd& w) { return w.transpose() * w; }

Eigenpairs top_eigenpairs(MatrixXd symmetric, std::size_t k) {
  const SingleThreadedBlas single;
  const int n = static_cast<int>(symmetric.rows());
  const int first = n - static_cast<int>(k) + 1;
  const double unused = 0;
  const double tolerance = 0;
  int found = 0;
  VectorXd values(n);
  MatrixXd vectors(n, k);
  std::vector<int> support(2 * static_cast<std::size_t>(n));
  int info = 0;
  int query = -1;
  double work_size = 0;
  int iwork_size = 0;
  dsyevr_("V", "I", "L", &n, symmetric.data(), &n, &unused, &unused, &first, &n, &tolerance, &found, values.data(),
          vectors.data(), &n, support.data(), &work_size, &query, &iwork_size, &query, &info);
  const int lwork = static_cast<int>(work_size);
  std::vector<double> work(static_cast<std::size_t>(lwork));
  std::vector<int> iwork(static_cast<std::size_t>(iwork_size));
  dsyevr_("V", "I", "L", &n, symmetric.data(), &n, &unused, &unused, &first, &n, &tolerance, &found, values.data(),
          vectors.data(), &n, support.data(), work.data(), &lwork, iwork.data(), &iwork_size, &info);
  if (info != 0 || found != static_cast<int>(k)) {
    failure("LAPACK found {} of {} eigenvectors of a {} x {} matrix (dsyevr: {})", found, k, n, n, info);
  }
  return largest_first(values, vectors);
}

std::optional<Eigenpairs> top_eigenpairs(MatrixXd a, MatrixXd b, std::size_t k) {
  const SingleThreadedBlas single;
  const int type = 1;
  const int n = static_cast<int>(a.rows());
  const int first = n - static_cast<int>(k) + 1;
  const double unused = 0;
  const double tolerance = 0;
  int found = 0;
  VectorXd values(n);
  MatrixXd vectors(n, k);
  std::vector<int> iwork(5 * static_cast<std::size_t>(n));
  std::vector<int> failed(static_cast<std::size_t>(n));
  int info = 0;
  int lwork = -1;
  double work_size = 0;
  dsygvx_(&type, "V", "I", "L", &n, a.data(), &n, b.data(), &n, &unused, &unused, &first, &n, &tolerance, &found,
          values.data(), vectors.data(), &n, &work_size, &lwork, iwork.data(), failed.data(), &info);
  lwork = static_cast<int>(work_size);
  std::vector<double> work(static_cast<std::size_t>(lwork));
  dsygvx_(&type, "V", "I", "L", &n, a.data(), &n, b.data(), &n, &unused, &unused, &first, &n, &tolerance, &found,
          values.data(), vectors.data(), &n, work.data(), &lwork, iwork.data(), failed.data(), &info);
  if (info > n) return std::nullopt;
  if (info != 0 || found != static_cast<int>(k)) {
    failure("LAPACK found {} of {} eigenvectors of a pair of {} x {} matrices (dsygvx: {})", found, k, n, n, info);
  }
  return largest_first(values, vectors);
}

MatrixXd closest_rotation(MatrixXd c) {
  const SingleThreadedBlas single;
  const int rows = static_cast<int>(c.rows());
  const int n = static_cast<int>(c.cols());
  VectorXd singular(n);
  MatrixXd u(rows, n);
  MatrixXd vt(n, n);
  std::vector<int> iwork(8 * static_cast<std::size_t>(n));
  int info = 0;
  int lwork = -1;
  double work_size = 0;
  dgesdd_("S", &rows, &n, c.data(), &rows, singular.data(), u.data(), &rows, vt.data(), &n, &work_size, &lwork,
          iwork.data(), &info);
  lwork = static_cast<int>(work_size);
  std::vector<double> work(static_cast<std::size_t>(lwork));
  dgesdd_("S", &rows, &n, c.data(), &rows, singular.data(), u.data(), &rows, vt.data(), &n, work.data(), &lwork,
          iwork.data(), &info);
  if (info != 0) failure("LAPACK found no singular values of a {} x {} matrix (dgesdd: {})", rows, n, info);
  return small_product(u, vt);
}

MatrixXd orthonormal_basis(const MatrixXd& a) {
  return Eigen::HouseholderQR<MatrixXd>(a).householderQ() * MatrixXd::Identity(a.rows(), a.cols());
}

std::optional<MatrixXd> solve_positive_definite(MatrixXd a, MatrixXd b) {
  const SingleThreadedBlas single;
  const int n = static_cast<int>(a.rows());
  const int columns = static_cast<int>(b.cols());
  int info = 0;
  dposv_("L", &n, &columns, a.data(), &n, b.data(), &n, &info);
  if (info != 0) return std::nullopt;
  return b;
}

MatrixXd solve_symmetric(const MatrixXd& a, const MatrixXd& b) { return a.ldlt().solve(b); }

std::optional<MatrixXd> inverse_cholesky_factor(MatrixXd a) {
  const SingleThreadedBlas single;
  const int n = static_cast<int>(a.rows());
  int info = 0;
  dpotrf_("L", &n, a.data(), &n, &info);
  if (info == 0) dtrtri_("L", "N", &n, a.data(), &n, &info);
  if (info != 0) return std::nullopt;
  for (Eigen::Index j = 1; j < a.cols(); ++j) a.col(j).head(j).setZero();
  return a;
}

MatrixXd random_rotation(std::size_t size, Random& random) {
  const auto n = static_cast<Eigen::Index>(size);
  MatrixXd gaussian(n, n);
  for (double& entry : gaussian.reshaped()) entry = random.normal();
  const Eigen::HouseholderQR<MatrixXd> qr(gaussian);
  MatrixXd rotation = qr.householderQ();
  // With R's diagonal positive the distribution is uniform; Householder leaves its signs to chance.
  for (Eigen::Index i = 0; i < n; ++i) {
    if (qr.matrixQR()(i, i) < 0) rotation.col(i) = -rotation.col(i);
  }
  return rotation;
}

std::string lapack_name() {
  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ... SkylakeX MAX_THREADS=64": the first two words and the kernel.
  std::istringstream config(openblas_get_config());
  std::string name;
  std::string number;
  config >> name >> number;
  return fmt::format("{} {}, kernel {}", name, number, openblas_get_corename());
}

}  // namespace bdnn
