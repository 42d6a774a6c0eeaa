#include "engine/compile.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/sha256.h"
#include "checkpoint/engine_checkpoint.h"

namespace adze::engine {
namespace {

// Of every weight's id, type, shape and elements, in order of ids.
std::string weights_digest(const graph::WeightSource& source, const std::set<std::string>& ids,
                           const std::function<void(size_t bytes)>& done) {
  constexpr size_t kPiece = 4 << 20;
  Sha256 sha;
  std::vector<std::byte> piece;
  for (const std::string& id : ids) {
    const graph::WeightInfo info = source.info(id);
    const std::string head =
        fmt::format("{} {} {} {}\n", id, dtype_info(info.dtype).name, info.rows, info.columns);
    sha.update(std::as_bytes(std::span(head)));
    const auto rows = static_cast<int64_t>(std::max<size_t>(1, kPiece / info.row_bytes()));
    for (int64_t first = 0; first < info.rows; first += rows) {
      const int64_t count = std::min(rows, info.rows - first);
      piece.resize(static_cast<size_t>(count) * info.row_bytes());
      source.read_rows(id, first, piece);
      sha.update(piece);
      done(piece.size());
    }
  }
  return sha.hex_digest();
}

}  // namespace

void compile_model(const LoadedModel& model, const std::filesystem::path& path,
                   const graph::LoadProgress& progress) {
  const graph::WeightSource& source = *model.checkpoint().weights;
  std::vector<graph::PackedMatrix> packed = model.plan().packed_matrices();
  std::set<std::string> expressions;
  for (const graph::PackedMatrix& matrix : packed) expressions.insert(matrix.expression);
  std::set<std::string> ids;
  std::set<std::string> plain;
  const graph::Graph& graph = model.plan().graph();
  for (const graph::NodeId id : graph.order()) {
    for (const graph::Weight& weight : graph.node(id).weights) {
      for (const std::string& of : weight->sources()) {
        ids.insert(of);
        if (!expressions.contains(weight->text())) plain.insert(of);
      }
    }
  }
  if (!packed.empty() && !source.packed(packed.front().layout, packed.front().expression).empty()) {
    throw_invalid("{}: is compiled already", model.checkpoint().path);
  }
  size_t total = 0;
  for (const std::string& id : ids) total += source.info(id).bytes();
  size_t packed_bytes = 0;
  for (const graph::PackedMatrix& matrix : packed) packed_bytes += matrix.bytes.size();
  size_t hashed = 0;
  const std::string digest = weights_digest(source, ids, [&](size_t bytes) {
    hashed += bytes;
    if (progress) progress(hashed, total + packed_bytes);
  });
  checkpoint::write_engine(path,
                           {model.checkpoint(),
                            model.tokenizer().vocabulary(),
                            digest,
                            {ids.begin(), ids.end()},
                            {plain.begin(), plain.end()},
                            std::move(packed)},
                           [&](size_t done, size_t) {
                             if (progress) {
                               progress(total + std::min(done, packed_bytes), total + packed_bytes);
                             }
                           });
}

}  // namespace adze::engine
