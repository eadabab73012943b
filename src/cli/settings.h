// Settings: the options of a command, wherever they were given: as flags, else in the environment, else in a TOML file,
// else by default. One name everywhere: --max-queue, BRIO_MAX_QUEUE, max-queue = 8. An argument such as MODEL is "model".
//
//   Settings settings(command);                  // all of its options are there
//   BRIO_TRY_OK(settings.load(config_path));     // in the command's callback; then the variables have their values
//   settings.where("max-queue")                  // "--max-queue", "BRIO_MAX_QUEUE" or "brio.toml:3: max-queue"
//
// Errors name the flag, the variable, or the file and line. One thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace brio::cli {

class Settings {
 public:
  explicit Settings(CLI::App& command) : command_(command) {}

  // Fills in what was not given as a flag. path: of the TOML file, or empty.
  // Errors: kIo, kInvalidFile for what is not TOML, kInvalidArgument for an unknown name or a value that is refused.
  Result<void> load(const std::string& path);

  bool given(const std::string& name) const { return where_.count(name) > 0; }
  // Where a setting comes from, for errors about it.
  std::string where(const std::string& name) const;
  // All settings as a TOML file, each with where it comes from; defaults as comments.
  std::string toml() const;

 private:
  std::vector<CLI::Option*> options() const;
  Result<void> load_environment();
  Result<void> load_file(const std::string& path);
  Result<void> set(CLI::Option& option, const std::vector<std::string>& values, const std::string& where);

  CLI::App& command_;
  std::map<std::string, std::string> where_;  // by name; absent: the default
};

}  // namespace brio::cli
