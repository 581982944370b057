// The shape of the house, read from the tree itself: includes point one way through the layers,
// third parties stay in their rooms, and nothing stands where the architecture has no place for it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

// From the ground up; a layer includes itself and what stands before it.
const std::vector<std::string> kLayers = {"base", "epoch",   "device", "memory", "graph",
                                          "exec", "runtime", "nn",     "trials", "cli"};
// Interop is a leaf: it may look at everything up to runtime, and nobody looks at it.
constexpr char kInterop[] = "interop";

// The layer that a public header belongs to, by its name without ".h".
const std::map<std::string, std::string> kPublicHeaders = {
    {"export", "base"},
    {"errors", "base"},
    {"source_location", "base"},
    {"stop_token", "base"},
    {"epoch", "epoch"},
    {"device", "device"},
    {"allocator", "memory"},
    {"shape", "graph"},
    {"tensor", "graph"},
    {"graph", "graph"},
    {"exec", "exec"},
    {"runtime", "runtime"},
    {"session", "runtime"},
    {"clear", "runtime"},
    {"memory_report", "runtime"},
    {"memory_figures", "memory"},
    {"layers", "nn"},
    {"model", "nn"},
    {"optimizers", "nn"},
    {"losses", "nn"},
    {"initializers", "nn"},
    {"metrics", "nn"},
    {"callbacks", "nn"},
    {"dataset", "nn"},
    {"nn", "nn"},
    {"trials", "trials"},
    {"quiesce", "trials"},
};

const std::set<std::string> kTopLevel = {"CMakeLists.txt",
                                         "CMakePresets.json",
                                         "LICENSE",
                                         "README.md",
                                         "docs",
                                         "include",
                                         "run",
                                         "src",
                                         "stress",
                                         "tests"};
const std::set<std::string> kIgnoredByGit = {"build", "compile_commands.json"};
const std::set<std::string> kFurtherTests = {"contract", "fake_cuda", "install",
                                             "layers",   "lifecycle", "model"};

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

// The rank of a layer; -1 for what is none.
int rank_of(const std::string& layer) {
  if (layer == kInterop) return rank_of("runtime");
  auto it = std::find(kLayers.begin(), kLayers.end(), layer);
  return it == kLayers.end() ? -1 : static_cast<int>(it - kLayers.begin());
}

// What stands between the quotes or brackets of an #include line; empty for other lines.
std::string included(const std::string& line) {
  size_t at = line.find_first_not_of(" \t");
  if (at == std::string::npos || line[at] != '#') return "";
  at = line.find_first_not_of(" \t", at + 1);
  if (at == std::string::npos || line.compare(at, 7, "include") != 0) return "";
  const size_t open = line.find_first_of("\"<", at);
  if (open == std::string::npos) return "";
  const size_t close = line.find_first_of("\">", open + 1);
  return close == std::string::npos ? "" : line.substr(open + 1, close - open - 1);
}

bool any_prefix(const std::string& text, std::initializer_list<const char*> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const char* prefix) { return starts_with(text, prefix); });
}

bool is_cuda(const std::string& include) {
  return any_prefix(include, {"cuda", "cublas", "nvml", "nvtx", "cub/", "thrust/", "device/cuda/",
                              "exec/kernels/cuda/"});
}

bool is_snake_case(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::islower(c) || std::isdigit(c) || c == '_' || c == '.';
  });
}

// One finding of the inspection per rule broken, beginning with the file.
class Inspection {
 public:
  explicit Inspection(fs::path root) : root_(std::move(root)) {
    top_level();
    for (const char* dir : {"src", "include"}) files_below(dir);
  }

  const std::vector<std::string>& findings() const { return findings_; }
  int files_read() const { return files_read_; }

 private:
  void found(const std::string& where, const std::string& what) {
    findings_.push_back(where + ": " + what);
  }

  std::vector<std::string> names_in(const fs::path& dir) const {
    std::vector<std::string> names;
    if (!fs::exists(root_ / dir)) return names;
    for (const auto& entry : fs::directory_iterator(root_ / dir)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  void top_level() {
    for (const std::string& name : names_in(".")) {
      if (name[0] == '.' || kIgnoredByGit.count(name) || kTopLevel.count(name)) continue;
      found(name, "the top level has no place for this");
    }
    for (const std::string& name : names_in("src")) {
      if (rank_of(name) >= 0 || name == "setup" || name == "README.md") continue;
      found("src/" + name, "is neither a layer nor setup");
    }
    for (const std::string& name : names_in("include")) {
      if (name != "quiesce") found("include/" + name, "public headers live in include/quiesce");
    }
    for (const std::string& name : names_in("tests")) {
      if (rank_of(name) >= 0 || kFurtherTests.count(name)) continue;
      found("tests/" + name, "mirrors no layer");
    }
  }

  void files_below(const std::string& dir) {
    if (!fs::exists(root_ / dir)) return;
    for (const auto& entry : fs::recursive_directory_iterator(root_ / dir)) {
      if (!entry.is_regular_file()) continue;
      const std::string path = fs::relative(entry.path(), root_).generic_string();
      if (starts_with(path, "src/setup/")) continue;
      const std::string name = entry.path().filename().string();
      if (name == "README.md") continue;  // what a layer is and keeps to
      const std::string extension = entry.path().extension().string();
      if (!is_snake_case(name) ||
          !std::set<std::string>{".h", ".cc", ".cu", ".S"}.count(extension)) {
        found(path, "file names are snake_case with .h, .cc, .cu or .S");
        continue;
      }
      read(path);
    }
  }

  void read(const std::string& path) {
    ++files_read_;
    const bool is_public = starts_with(path, "include/");
    std::string layer;
    if (is_public) {
      layer = layer_of_public(fs::path(path).lexically_relative("include").generic_string());
      if (layer.empty()) {
        found(path, "is a public header of no known layer; name its layer in tests/layers");
        return;
      }
    } else {
      layer = path.substr(4, path.find('/', 4) - 4);
    }
    std::ifstream file(root_ / path);
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
      const std::string include = included(line);
      if (!include.empty()) check(path, number, is_public, layer, include);
    }
  }

  // "quiesce/x.h" → its layer; everything below quiesce/cuda/ is interop.
  static std::string layer_of_public(const std::string& include) {
    if (starts_with(include, "quiesce/cuda/")) return kInterop;
    const auto it = kPublicHeaders.find(fs::path(include).stem().string());
    const bool direct = std::count(include.begin(), include.end(), '/') == 1;
    return it == kPublicHeaders.end() || !direct ? "" : it->second;
  }

  void check(const std::string& path, int number, bool is_public, const std::string& layer,
             const std::string& include) {
    const std::string where = path + ":" + std::to_string(number);
    const std::string first = include.substr(0, include.find('/'));
    const std::string target = first == "quiesce"                       ? layer_of_public(include)
                               : include.find('/') == std::string::npos ? ""
                                                                        : first;
    if (rank_of(target) >= 0) {
      if (is_public && first != "quiesce") {
        found(where, "a public header includes the internal " + include);
      }
      if (rank_of(target) > rank_of(layer) || (target == kInterop && layer != kInterop)) {
        found(where, layer + " includes " + include + " of " + target + ": the arrow runs back");
      }
    }
    const bool cuda_room = any_prefix(path, {"src/device/cuda/", "src/exec/kernels/cuda/",
                                             "src/interop/", "include/quiesce/cuda/"});
    if (is_cuda(include) && !cuda_room) found(where, "CUDA (" + include + ") outside its folders");
    if (any_prefix(include, {"tbb/", "oneapi/tbb", "oneapi/dpl"}) && layer != "exec" &&
        layer != "trials") {
      found(where, "oneTBB (" + include + ") outside exec and trials");
    }
    if (any_prefix(include, {"dnnl", "oneapi/dnnl"}) &&
        !starts_with(path, "src/exec/kernels/host/")) {
      found(where, "oneDNN (" + include + ") outside exec/kernels/host");
    }
  }

  const fs::path root_;
  std::vector<std::string> findings_;
  int files_read_ = 0;
};

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// A made-up tree in a folder of its own.
class MadeUpTree {
 public:
  MadeUpTree() {
    std::string name = (fs::temp_directory_path() / "quiesce-layers-XXXXXX").string();
    root_ = mkdtemp(name.data());
    write("CMakeLists.txt", "");
    write("src/README.md", "");
    write("src/base/ids.h", "#include <cstdint>\n");
    write("src/epoch/domain.h", "#include \"base/ids.h\"\n#include \"quiesce/errors.h\"\n");
    write("include/quiesce/errors.h", "#include \"quiesce/export.h\"\n");
    write("src/exec/arena.cc", "#include <tbb/task_arena.h>\n#include \"epoch/domain.h\"\n");
    write("src/exec/kernels/host/gemm.cc", "#include <dnnl.hpp>\n");
    write("src/device/cuda/driver_table.h", "#include <cuda.h>\n");
    write("tests/epoch/domain_test.cc", "");
  }
  ~MadeUpTree() { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::vector<std::string> findings() const { return Inspection(root_).findings(); }

 private:
  fs::path root_;
};

TEST(Layers, TheTreeKeepsItsRules) {
  const Inspection inspection(QUIESCE_SOURCE_DIR);
  EXPECT_GT(inspection.files_read(), 20);
  EXPECT_TRUE(inspection.findings().empty()) << joined(inspection.findings());
}

TEST(Layers, ACleanMadeUpTreePasses) {
  EXPECT_TRUE(MadeUpTree().findings().empty()) << joined(MadeUpTree().findings());
}

struct Violation {
  const char* path;
  const char* text;
  const char* expected;
};

// Each breaks one rule, and the inspection has to say so.
TEST(Layers, EveryBrokenRuleIsFound) {
  const Violation violations[] = {
      {"src/epoch/bad.h", "#include \"runtime/session.h\"\n", "the arrow runs back"},
      {"src/base/bad.cc", "  #  include \"quiesce/trials.h\"\n", "the arrow runs back"},
      {"include/quiesce/device.h", "#include \"quiesce/model.h\"\n", "the arrow runs back"},
      {"include/quiesce/model.h", "#include \"base/ids.h\"\n", "includes the internal"},
      {"src/trials/bad.cc", "#include \"interop/torch.h\"\n", "the arrow runs back"},
      {"src/runtime/bad.cc", "#include <cuda.h>\n", "outside its folders"},
      {"src/runtime/bad.cc", "#include \"device/cuda/driver_table.h\"\n", "outside its folders"},
      {"include/quiesce/graph.h", "#include <cublasLt.h>\n", "outside its folders"},
      {"src/runtime/bad.cc", "#include <oneapi/tbb.h>\n", "outside exec and trials"},
      {"src/exec/bad.cc", "#include <dnnl.hpp>\n", "outside exec/kernels/host"},
      {"include/quiesce/unheard_of.h", "", "of no known layer"},
      {"src/base/BadName.cc", "", "snake_case"},
      {"src/base/notes.txt", "", "snake_case"},
      {"src/utils/misc.h", "", "neither a layer"},
      {"include/other/x.h", "", "include/quiesce"},
      {"tests/misc/x_test.cc", "", "mirrors no layer"},
      {"NOTES.md", "", "top level"},
  };
  for (const Violation& violation : violations) {
    MadeUpTree tree;
    tree.write(violation.path, violation.text);
    const std::vector<std::string> findings = tree.findings();
    EXPECT_FALSE(findings.empty()) << violation.path;
    EXPECT_NE(joined(findings).find(violation.expected), std::string::npos)
        << violation.path << " should give: " << violation.expected << "\ngot:\n"
        << joined(findings);
  }
}

}  // namespace
