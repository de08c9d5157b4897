// Prints what the linter finds in folders of Slurm's files: for each folder given, one line of JSON
// with the findings. Names that begin with a dot are left out.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "json/value.h"
#include "slurm/conf_lint.h"

namespace {

using mainspring::json::Value;

mainspring::slurm::ConfSet read_folder(const std::filesystem::path& folder) {
  mainspring::slurm::ConfSet files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') || !entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files[name] = std::string(std::istreambuf_iterator<char>(file), {});
  }
  return files;
}

Value to_json(const mainspring::slurm::Finding& finding) {
  const bool error = finding.severity == mainspring::slurm::Severity::kError;
  return Value::object({{"severity", error ? "error" : "warning"},
                        {"file", finding.file},
                        {"line", finding.line},
                        {"key", finding.key},
                        {"message", finding.message},
                        {"advice", finding.advice}});
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    Value findings = Value::array();
    for (const auto& finding : mainspring::slurm::lint(read_folder(arguments[i]))) {
      findings.push_back(to_json(finding));
    }
    std::cout << mainspring::json::to_text(findings) << '\n';
  }
}
