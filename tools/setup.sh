# What brio-up and brio-test share: packages, build, test environment. Sourced with the repository as working directory.
# Tried on Debian 12, Debian 13 and Ubuntu 24.04; anywhere else with apt-get it may work, and says so when it does not.

export LC_ALL=C.UTF-8 LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive
cmake=/usr/bin/cmake    # a developer's PATH may hold others: what a fresh machine has is what must work
python=/usr/bin/python3
jobs=$(nproc)

build_packages=(g++ cmake ninja-build pkg-config git ca-certificates python3 python3-pip
  libssl-dev libpcre2-dev libutf8proc-dev libspdlog-dev libfmt-dev libcli11-dev prometheus-cpp-dev libxxhash-dev
  libedit-dev zlib1g-dev libtomlplusplus-dev)
test_packages=(python3-venv libgtest-dev librapidcheck-dev libsimde-dev openssl clang)

say() { printf '\n== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

installed() { dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }
available() { apt-cache show "$1" >/dev/null 2>&1; }

missing_packages() {  # names -> those that are not installed, one a line
  local name
  for name in "$@"; do installed "$name" || echo "$name"; done
}

# Debian 12 has Boost 1.81 beside its default 1.74; later systems have 1.83.
boost_packages() {
  local version=1.83
  grep -qx 'VERSION_CODENAME=bookworm' /etc/os-release && version=1.81
  echo "libboost$version-dev" "libboost-json$version-dev"
}

# The command prefix for apt-get: nothing for root, sudo where it exists; otherwise the user must run the line.
choose_sudo() {
  local name
  sudo=() proxies=()  # sudo would forget them
  for name in http_proxy https_proxy no_proxy; do [ -z "${!name:-}" ] || proxies+=("$name=${!name}"); done
  [ "$(id -u)" -eq 0 ] && return
  if command -v sudo >/dev/null; then sudo=(sudo); return; fi
  echo "These packages are missing, and this needs root (there is no sudo). Run as root, then start again:" >&2
  echo "  apt-get update && apt-get install -y --no-install-recommends $*" >&2
  exit 2
}

enable_universe() {  # Ubuntu keeps several of the packages there
  grep -qx 'ID=ubuntu' /etc/os-release || return 0
  available libcli11-dev && return 0
  apt_get install -y --no-install-recommends software-properties-common
  "${sudo[@]}" add-apt-repository -y universe
  apt_get update
}

apt_get() { "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive "${proxies[@]}" apt-get -o Acquire::Retries=3 -q "$@"; }

install_packages() {  # names: installs what is missing of them and of Boost
  local missing
  mapfile -t missing < <(missing_packages "$@" $(boost_packages))
  [ ${#missing[@]} -eq 0 ] && return 0
  command -v apt-get >/dev/null || die "no apt-get here; brio needs (Debian names): ${missing[*]}"
  choose_sudo "${missing[*]}"
  say "Installing ${#missing[@]} packages"
  apt_get update
  enable_universe
  apt_get install -y --no-install-recommends "${missing[@]}" || die "apt-get could not install: ${missing[*]}"
}

# clang's sanitizer and fuzzer runtimes are a package of their own, named after clang's version.
install_clang_runtime() {
  local version
  version=$(clang_version)
  installed "libclang-rt-$version-dev" && return 0
  choose_sudo "libclang-rt-$version-dev"
  apt_get install -y --no-install-recommends "libclang-rt-$version-dev" || die "no runtime library for clang $version"
}

clang_version() { "$(clang_compiler)" -dumpversion | cut -d. -f1; }
clang_compiler() { command -v clang++-14 || command -v clang++ || die "clang++ is missing"; }

make_venv() {  # build/venv with the exact versions of tests/requirements.txt; again only when that file changes
  local stamp=build/venv/requirements.txt
  cmp -s tests/requirements.txt "$stamp" && return 0
  say "Test clients in build/venv"
  rm -rf build/venv
  "$python" -m venv build/venv || die "cannot make build/venv"
  build/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input -r tests/requirements.txt ||
    die "pip could not install tests/requirements.txt"
  # Source packages that bring test data along: jsonschema has the JSON-Schema-Test-Suite.
  build/venv/bin/python -m pip download --quiet --disable-pip-version-check --no-input --no-deps --no-binary jsonschema \
    --dest build/venv/sources "$(grep '^jsonschema==' tests/requirements.txt)" ||
    die "pip could not download the source of jsonschema"
  cp tests/requirements.txt "$stamp"
}
