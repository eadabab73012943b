// pull, models, rm: the models on this machine.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <set>

#include "cli/command.h"
#include "cli/terminal.h"
#include "hub/catalogue.h"
#include "hub/pull.h"
#include "hub/store.h"
#include "server/loaded_model.h"
#include "weights/packed_cache.h"

namespace brio::cli {
namespace {

Result<void> pull(const std::string& what) {
  ProgressLine line(what);
  hub::PullOptions options;
  options.progress = [&](const hub::Progress& progress) {
    line.show(progress.stage, progress.bytes, progress.total_bytes, progress.bytes_per_second, progress.seconds_left);
    return true;
  };
  BRIO_TRY(const hub::Pulled pulled, hub::pull(what, hub::Store(), options));
  line.finish();
  fmt::print("{} {}: {} ({}{})\n", pulled.name, pulled.was_here ? "is here" : "pulled", pulled.path.string(),
             format_bytes(pulled.size_bytes), pulled.verified ? ", sha256 verified" : "");
  return {};
}

void print_row(const std::string& name, bool here, int64_t size, const std::string& licence, const std::string& about) {
  fmt::print("{:<22} {:<5} {:>10}  {:<18} {}\n", name, here ? "yes" : "-", format_bytes(size), licence, about);
}

Result<void> list_models() {
  const hub::Store store;
  fmt::print("{}\n", bold(fmt::format("{:<22} {:<5} {:>10}  {:<18} {}", "NAME", "HERE", "SIZE", "LICENCE", "ABOUT"),
                          STDOUT_FILENO));
  for (const hub::CatalogueEntry& entry : hub::catalogue()) {
    print_row(entry.name, store.has(entry.name), entry.size_bytes, entry.licence, entry.description);
  }
  for (const hub::StoredModel& model : store.list()) {
    if (hub::find_entry(model.name) == nullptr) print_row(model.name, true, model.size_bytes, "", model.path.string());
  }
  return {};
}

Result<void> remove_models(const std::vector<std::string>& names) {
  const hub::Store store;
  for (const std::string& name : names) {
    BRIO_TRY_OK(store.remove(name));
    fmt::print("removed {}\n", name);
  }
  weights::sweep_packed_files(server::default_packed_folder().path);
  return {};
}

}  // namespace

void add_store_commands(CLI::App& app, int& exit_code) {
  auto what = std::make_shared<std::string>();
  CLI::App* get = app.add_subcommand("pull", "Download a model, verified; an interrupted download goes on");
  get->add_option("MODEL", *what, "A name from `brio models`, hf:OWNER/REPO/FILE.gguf, or https://...")->required();
  get->callback([what, &exit_code] { exit_code = run_command([&] { return pull(*what); }); });

  CLI::App* list = app.add_subcommand("models", "List the models that brio knows and those that are here");
  list->callback([&exit_code] { exit_code = run_command(list_models); });

  auto names = std::make_shared<std::vector<std::string>>();
  CLI::App* remove = app.add_subcommand("rm", "Delete models from this machine");
  remove->add_option("MODEL", *names, "Names from `brio models`")->required();
  remove->callback([names, &exit_code] { exit_code = run_command([&] { return remove_models(*names); }); });
}

}  // namespace brio::cli
