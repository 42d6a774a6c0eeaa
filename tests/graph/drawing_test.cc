// Drawings of plans: well-formed whatever names hold, and laid out so that they can be read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "fake_weights.h"
#include "graph/builder.h"
#include "graph/explain.h"
#include "graph/explain/layout.h"
#include "graph/explain/picture.h"
#include "graph/operator.h"

namespace adze::graph {
namespace {

using testing::HasSubstr;

// --- Layout ---

bool overlap(const Rectangle& a, const Rectangle& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

TEST(Layout, NodesNeverOverlapAndEdgesLeadDownIntoThem) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    std::vector<LayoutNode> nodes;
    std::vector<LayoutEdge> edges;
    const size_t count = 2 + random() % 30;
    for (size_t i = 0; i < count; ++i) {
      const auto size = [&](uint32_t least, uint32_t range) {
        return static_cast<double>(least + random() % range);
      };
      nodes.push_back({size(20, 200), size(10, 60), i * 3 / count});
      for (size_t from = 0; from < i; ++from) {
        if (random() % 6 == 0) edges.push_back({from, i, random() % 4 == 0});
      }
    }
    const Layout layout = lay_out(nodes, edges, {0, 30, 0});
    ASSERT_EQ(layout.nodes.size(), count);
    for (size_t a = 0; a < count; ++a) {
      const Rectangle& node = layout.nodes[a];
      EXPECT_GE(node.x, 0);
      EXPECT_LE(node.right(), layout.width);
      EXPECT_LE(node.bottom(), layout.height);
      const Rectangle& section = layout.sections[nodes[a].section];
      EXPECT_TRUE(node.y >= section.y && node.bottom() <= section.bottom()) << seed;
      for (size_t b = 0; b < a; ++b) EXPECT_FALSE(overlap(node, layout.nodes[b])) << seed;
    }
    for (size_t i = 0; i < edges.size(); ++i) {
      const std::vector<Point>& points = layout.edges[i];
      const Rectangle& from = layout.nodes[edges[i].from];
      const Rectangle& to = layout.nodes[edges[i].to];
      if (edges[i].aside) {
        ASSERT_EQ(points.size(), 4u);
        EXPECT_EQ(points.front().x, from.right());
        EXPECT_EQ(points.back().x, to.right());
        for (const Rectangle& node : layout.nodes) EXPECT_GT(points[1].x, node.right());
        continue;
      }
      EXPECT_EQ(points.front().y, from.bottom());
      EXPECT_EQ(points.back().y, to.y);
      EXPECT_TRUE(points.front().x >= from.x && points.front().x <= from.right());
      EXPECT_TRUE(points.back().x >= to.x && points.back().x <= to.right());
      for (size_t p = 1; p < points.size(); ++p) EXPECT_GE(points[p].y, points[p - 1].y);
      // Where an edge passes a rank it passes between the nodes.
      for (size_t p = 1; p + 1 < points.size(); p += 2) {
        const Rectangle line = {points[p].x, points[p].y, 0.01, points[p + 1].y - points[p].y};
        for (const Rectangle& node : layout.nodes) EXPECT_FALSE(overlap(line, node)) << seed;
      }
    }
  }
}

TEST(Layout, ADiamondHasNoCrossingAndNothingAsideOfNothing) {
  const std::vector<LayoutNode> nodes(4, {50, 20, 0});
  // Declared so that drawing them in order would cross.
  const Layout layout =
      lay_out(nodes, {{0, 2, false}, {0, 1, false}, {1, 3, false}, {2, 3, false}}, {0});
  EXPECT_EQ(layout.nodes[1].y, layout.nodes[2].y);
  EXPECT_LT(layout.nodes[0].bottom(), layout.nodes[1].y);
  EXPECT_LT(layout.nodes[1].bottom(), layout.nodes[3].y);
  EXPECT_EQ(layout.nodes[0].x, layout.nodes[3].x);
  EXPECT_TRUE(lay_out({}, {}, {}).nodes.empty());
}

TEST(Picture, EveryOperatorHasAFamilyOfItsOwn) {
  const std::vector<std::string> elementwise = {"add",      "constant", "gelu_tanh", "identity",
                                                "multiply", "rsqrt",    "silu"};
  for (const Operator& op : operators()) {
    const bool plain =
        std::find(elementwise.begin(), elementwise.end(), op.name) != elementwise.end();
    EXPECT_EQ(family_of(op.name) == Family::kElementwise, plain) << op.name;
  }
}

// --- Names that mean to break what shows them ---

class NoPartition final : public CompiledPartition {
 public:
  void run(const RunContext&) override {}
  int barriers() const override { return 0; }
  std::string kernels(NodeId) const override { return "kernel <&> \"\\N\""; }
  size_t weight_bytes() const override { return 0; }
};

class NoProvider final : public Provider {
 public:
  std::string_view name() const override { return "none"; }
  std::optional<std::string> refuses(const Graph&, const Node&,
                                     const WeightSource&) const override {
    return std::nullopt;
  }
  size_t value_bytes(const Value&, int64_t) const override { return 64; }
  void lay_out_state(Graph&) const override {}
  std::unique_ptr<CompiledPartition> compile(const Graph&, std::span<const NodeId>,
                                             const WeightSource&, const PlanOptions&, ThreadPool&,
                                             const LoadProgress&) override {
    return std::make_unique<NoPartition>();
  }
};

const std::string kHostile = "</title>&<![CDATA[\"'\\N \\l {x|y}; -> ]]>&amp;";
const std::string kBytes = "a\x01\x1b[31m\xff\xc3(\xef\xbf\xbf\xc2\x85\nb";

class DrawingTest : public testing::Test {
 protected:
  void SetUp() override {
    weights_.add(kHostile, DType::kF32, 64, 64);
    Builder builder(weights_);
    ValueId x = builder.graph().add_input("x", ElementType::kF32,
                                          {{Axis::kTokens, kSymbolic}, {Axis::kHidden, 64}});
    for (const std::string& name :
         {kHostile, kBytes, "layers.0." + kHostile, "layers.1." + kHostile}) {
      x = builder.apply("linear", name, {x}, {tensor(kHostile)});
    }
    builder.graph().add_output(x);
    Provider* const providers[] = {&provider_};
    plan_ = std::make_unique<Plan>(builder.take(), providers, weights_, PlanOptions{}, pool_);
    PassReport report;
    report.name = kHostile;
    report.changes = {kBytes};
    reports_ = {report};
  }

  Explanation explanation() const { return {counts_, reports_, {}, *plan_, weights_}; }

  // Runs Python's own parser over a file and returns the exit code.
  static int python(const std::string& program, const std::string& path) {
    const std::string script = testing::TempDir() + "drawing_check.py";
    std::ofstream(script) << program;
    return std::system(("python3 " + script + " " + path).c_str());
  }

  FakeWeights weights_;
  NoProvider provider_;
  ThreadPool pool_{1};
  std::unique_ptr<Plan> plan_;
  OperatorCounts counts_ = {{"linear", 4}};
  std::vector<PassReport> reports_;
};

TEST_F(DrawingTest, SvgIsWellFormedAndShowsTheNameAsItIs) {
  if (std::system("python3 -c 0") != 0) GTEST_SKIP() << "no python3";
  const std::string path = testing::TempDir() + "hostile.svg";
  std::ofstream(path, std::ios::binary) << explain_svg(explanation());
  std::ofstream(path + ".name") << kHostile;
  EXPECT_EQ(python("import sys, xml.etree.ElementTree as tree\n"
                   "texts = [e.text for e in tree.parse(sys.argv[1]).iter() if e.text]\n"
                   "name = open(sys.argv[1] + '.name').read()\n"
                   "assert name in texts, texts\n"
                   "assert any('layers 0' in t for t in texts), texts\n"
                   "assert any(t.startswith('a\\\\x01') for t in texts), texts\n",
                   path),
            0);
}

TEST_F(DrawingTest, DotIsReadByGraphviz) {
  if (std::system("dot -V 2>/dev/null") != 0) GTEST_SKIP() << "no Graphviz";
  const std::string path = testing::TempDir() + "hostile.dot";
  std::ofstream(path, std::ios::binary) << explain_dot(explanation());
  std::ofstream(path + ".svg.name") << kHostile;
  const std::string command = "dot -Tsvg " + path + " -o " + path + ".svg 2>" + path + ".err";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream errors(path + ".err");
  EXPECT_EQ(errors.peek(), std::ifstream::traits_type::eof()) << "Graphviz complains";
  EXPECT_EQ(python("import sys, xml.etree.ElementTree as tree\n"
                   "texts = [e.text for e in tree.parse(sys.argv[1]).iter() if e.text]\n"
                   "name = open(sys.argv[1] + '.name').read()\n"
                   "spaces = ' '.join\n"
                   "assert any(spaces(name.split()) in spaces(t.split()) for t in texts), texts\n",
                   path + ".svg"),
            0);
}

TEST_F(DrawingTest, JsonIsJsonAndReadAgain) {
  const std::string path = testing::TempDir() + "hostile.json";
  std::ofstream(path, std::ios::binary) << json_text(explain_json(explanation()), 2);
  const auto again = load_explanation(path);
  EXPECT_EQ(again["nodes"][0]["name"], kHostile);
  EXPECT_EQ(difference_text(explain_difference(again, again)), "Nothing differs.\n");
}

// --- Files that are no explanations ---

TEST_F(DrawingTest, WrongExplanationsAreNamedByFileAndField) {
  const std::string path = testing::TempDir() + "wrong.json";
  const auto expect = [&](const std::string& text, const std::string& says) {
    std::ofstream(path, std::ios::binary) << text;
    try {
      load_explanation(path);
      ADD_FAILURE() << says;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInvalidInput);
      EXPECT_THAT(error.what(), HasSubstr("wrong.json"));
      EXPECT_THAT(error.what(), HasSubstr(says));
    }
  };
  expect("", "offset 1: not JSON");
  expect("{\"a\": 1e999}", "a number is out of range");
  expect("[1]", "not an object");
  expect("{}", "no field declared");
  expect(std::string(100000, '['), "nested deeper than 64 levels");
  expect("\"\xff\"", "offset 2: not JSON");
  const auto good = explain_json(explanation());
  const auto replaced = [&](const char* pointer, const nlohmann::ordered_json& value) {
    auto copy = good;
    copy[nlohmann::ordered_json::json_pointer(pointer)] = value;
    return copy.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  };
  expect(replaced("/declared/linear", -1), "field declared is not an object of counts");
  expect(replaced("/passes", 3), "field passes is not an array");
  expect(replaced("/passes/0/name", 3), "field passes[0].name is not a string");
  expect(replaced("/nodes/1", "x"), "nodes[1] is not an object");
  expect(replaced("/nodes/1/outputs/0/shape", nullptr), "field nodes[1].outputs[0].shape");
  expect(replaced("/memory/peak_bytes", 1.5), "field memory.peak_bytes is not a count");
  expect(replaced("/weights/by_dtype", {{{"dtype", "F32"}}}),
         "no field weights.by_dtype[0].format");
}

}  // namespace
}  // namespace adze::graph
