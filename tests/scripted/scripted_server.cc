// brio_scripted serve SCRIPT [--port N]: the server in front of answers from a file (scripted_backend.h). A program of the
// tests: it takes the command line of `brio serve` as far as they need it, and ends on SIGTERM or SIGINT.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "scripted/scripted_backend.h"
#include "server/routes.h"

int main(int argc, char** argv) {
  using namespace brio;
  const std::string command = argc > 2 ? argv[1] : "";
  if (command != "serve" || (argc != 3 && !(argc == 5 && std::string(argv[3]) == "--port"))) {
    std::fputs("usage: brio_scripted serve SCRIPT [--port N]\n", stderr);
    return 2;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread
  auto script = scripted::read_script(argv[2]);
  if (!script.ok()) {
    std::fprintf(stderr, "error: %s\n", script.error().message.c_str());
    return exit_code(script.error().code);
  }
  server::Routes routes;
  net::HttpServerOptions options;
  options.port = argc == 5 ? std::atoi(argv[4]) : 8080;
  options.error_response = server::Routes::error_response;
  auto http = net::HttpServer::listen(
      options, [&routes](auto request, auto responder) { routes.handle(std::move(request), responder); });
  if (!http.ok()) {
    std::fprintf(stderr, "error: %s\n", http.error().message.c_str());
    return exit_code(http.error().code);
  }
  auto backend = std::make_shared<scripted::ScriptedBackend>(std::move(script).value());
  routes.serve(backend);
  std::printf("listening on http://127.0.0.1:%d; answers from %s\n", (*http)->port(), argv[2]);
  std::fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);
  (*http)->stop(std::chrono::milliseconds(1000));
  return 0;
}
