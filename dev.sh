#!/bin/sh
# Sets this checkout up and then does what it was asked to: see `./dev.sh help`.
# POSIX sh. Needs Python 3.11 or newer; on Debian and its relatives it installs what is missing, Python included.
set -eu
# Python keeps what it compiles: else each of the many processes of the tests would compile torch anew.
unset CDPATH PYTHONDONTWRITEBYTECODE
cd -- "$(dirname -- "$0")"

venv=.venv
bin=$venv/bin
stamp=$venv/.installed
fetch_log=$venv/.fetched
qt_libraries="libgl1 libegl1 libglib2.0-0 libdbus-1-3 libfontconfig1 libxkbcommon0"
screen_libraries="libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0 libxcb-xkb1 libxkbcommon-x11-0"
fonts="fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji"

usage() {
    cat <<'TEXT'
./dev.sh COMMAND [ARGUMENTS]    each command first installs what is missing

  setup    libraries, fonts and the virtual environment .venv; nothing more
  run      the window; further arguments go to specee-viewer (./dev.sh run model list)
  test     lint, the fast tests, then those on the default model, some spoiled files and a monkey at the window
  check    lint and the fast tests (further arguments go to pytest): no model, no network once set up
  lint     ruff, its formatter, mypy and the import contracts
  soak     every test, the property tests again with twenty other seeds, fifty kills, 12 000 spoiled files, and a
           monkey that plays for an hour; slow
TEXT
}

say() { printf '%s\n' "== $*"; }

fail() {
    printf '%s\n' "dev.sh: $*" >&2
    exit 1
}

# --- Debian packages ---------------------------------------------------------------------------------------------

# Newer releases renamed some libraries NAMEt64.
is_installed() { dpkg-query -W -f '${Status}\n' "$1" "$1t64" 2>/dev/null | grep -q 'ok installed'; }

missing_of() {
    for package in "$@"; do
        is_installed "$package" || printf ' %s' "$package"
    done
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        command -v sudo >/dev/null && sudo "$@"
    fi
}

apt_install() {
    as_root apt-get update -q || say "The package lists could not be renewed; going on with those at hand."
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}

install_packages() {
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        return 0
    fi
    needed=$(missing_of "$@")
    can_make_venv || needed=$needed$(missing_of python3 python3-venv)
    wanted=$(missing_of $fonts)
    [ -n "$needed$wanted" ] || return 0
    say "Installing Debian packages:$needed$wanted"
    # shellcheck disable=SC2086 # lists of names
    if apt_install $needed $wanted; then
        return 0
    fi
    if [ -n "$needed" ]; then
        fail "These Debian packages are missing and could not be installed:$needed. Install them as root" \
            "(apt-get install$needed), then run this again."
    fi
    say "Going on without the fonts$wanted: what they write will show as boxes."
}

# --- Python ------------------------------------------------------------------------------------------------------

find_python() {
    for candidate in "${PYTHON:-python3}" python3.14 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s' "$candidate"
            return 0
        fi
    done
    return 1
}

can_make_venv() { python=$(find_python) && "$python" -c 'import ensurepip, venv' 2>/dev/null; }

fingerprint() {
    pwd
    "$bin/python" --version
    cksum <pyproject.toml
}

# The scripts in a venv name its place: one that was moved is made anew.
venv_is_sound() {
    "$bin/python" -c '' 2>/dev/null || return 1
    [ ! -f "$stamp" ] || [ "$(head -n 1 "$stamp")" = "$(pwd)" ]
}

make_venv() {
    venv_is_sound && return 0
    can_make_venv || fail "Python 3.11 or newer with its venv module is needed; install it, or name one: PYTHON=… $0"
    say "Making $venv with $("$python" --version)"
    "$python" -m venv --clear "$venv"
}

install_python_packages() {
    make_venv
    [ -f "$stamp" ] && [ "$(fingerprint)" = "$(cat "$stamp")" ] && return 0
    say "Installing the Python packages into $venv (once; some minutes)"
    quiet=--quiet
    [ -t 1 ] && quiet=
    "$bin/python" -m pip install $quiet --no-compile -e '.[dev]' ||
        fail "pip could not install the Python packages; what it said is above. Once that is solved, run this again."
    # What is imported is compiled, so that a first launch is as quick as the next; pip compiles four times as much.
    "$bin/python" -c 'import app.workbench, core.engine, core.model.loading' 2>/dev/null || true # `check_qt` tells
    fingerprint >"$stamp"
}

check_qt() {
    "$bin/python" -c 'import PySide6.QtWidgets' 2>/dev/null && return 0
    "$bin/python" -c 'import PySide6.QtWidgets' || true
    fail "Qt cannot start: a system library is missing (its name is above); install it with your package manager."
}

set_up() {
    # shellcheck disable=SC2086 # lists of names
    install_packages $qt_libraries "$@"
    install_python_packages
    check_qt
}

# --- what can be asked for ---------------------------------------------------------------------------------------

lint() {
    say "ruff"
    "$bin/ruff" check .
    "$bin/ruff" format --check .
    say "mypy"
    "$bin/mypy"
    say "import contracts"
    "$bin/lint-imports"
}

# Tiny models run fastest on one thread, so that every core takes a file of tests at a time.
fast_tests() {
    say "fast tests"
    OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} "$bin/pytest" -n auto --dist loadfile "$@"
}

# Two at a time, each with a processor of its own: the model is small, and two threads on it get less done.
slow_tests() {
    say "slow tests ($1): ${SPECEE_FUZZ_CASES:-700} spoiled files, ${SPECEE_MONKEY_MOVES:-1000} moves of a monkey"
    OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} "$bin/pytest" -n 2 -m "$1"
}

# Each case is drawn from its number: what is found is found again by `python -m tests.fuzz.runner TARGET CASE 1`.
fuzz_tests() {
    say "${SPECEE_FUZZ_CASES:-700} spoiled files"
    "$bin/pytest" -m fuzz tests/fuzz
}

# Each move is drawn from the seed and its number: `python -m tests.monkey.runner SEED COUNT` makes them again.
monkey_tests() {
    say "a monkey at the window, ${SPECEE_MONKEY_MOVES:-1000} moves of seed ${SPECEE_MONKEY_SEED:-7}"
    "$bin/pytest" -m monkey tests/monkey
}

# Two games of half an hour: in one process for each, since a leak only shows after long.
monkey_games() {
    for seed in 7 8; do
        SPECEE_MONKEY_SEED=$seed SPECEE_MONKEY_MOVES=${SPECEE_MONKEY_MOVES:-24000} monkey_tests
    done
}

kill_tests() {
    say "fifty killed recordings"
    SPECEE_KILLS=50 "$bin/pytest" -q tests/core/test_session_kill.py
}

fetch_model() {
    say "the default model"
    "$bin/specee-viewer" model fetch
}

# Looking at the sources takes one processor, and fetching the network most of all. The fetch ends with this script, by
# the signal that it tidies up after.
lint_and_fetch() {
    say "the default model, meanwhile"
    "$bin/specee-viewer" model fetch 2>"$fetch_log" &
    fetching=$!
    trap 'while kill -INT "$fetching" 2>/dev/null; do sleep 1; done' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    lint
    if ! wait "$fetching"; then
        cat "$fetch_log" >&2
        fail "the default model could not be fetched; why is above."
    fi
    trap - EXIT INT TERM HUP
}

# Seeds are fixed, so that what soak finds can be found again.
property_tests() {
    seed=1
    while [ "$seed" -le 20 ]; do
        say "property tests with seed $seed"
        HYPOTHESIS_PROFILE=soak OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} \
            "$bin/pytest" -q -m "hypothesis and not model" --hypothesis-seed="$seed"
        seed=$((seed + 1))
    done
}

command=${1:-help}
[ $# -eq 0 ] || shift
case $command in
    setup)
        # shellcheck disable=SC2086 # a list of names
        set_up $screen_libraries
        ;;
    run)
        # shellcheck disable=SC2086 # a list of names
        set_up $screen_libraries
        exec "$bin/specee-viewer" "$@"
        ;;
    test)
        set_up
        lint_and_fetch
        fast_tests
        slow_tests "model or fuzz or monkey"
        ;;
    check)
        set_up
        lint
        fast_tests "$@"
        ;;
    lint)
        set_up
        lint
        ;;
    soak)
        set_up
        fast_tests
        property_tests
        kill_tests
        SPECEE_FUZZ_CASES=${SPECEE_FUZZ_CASES:-12000} fuzz_tests
        monkey_games
        fetch_model
        slow_tests model
        ;;
    help | -h | --help) usage ;;
    *)
        usage >&2
        fail "there is no command '$command'"
        ;;
esac
