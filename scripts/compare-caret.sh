#!/usr/bin/env bash
# Asks caret_analyze and caret-bpf the same questions about the same events, and compares the answers row by row. The exit code is 0 if
# each difference has a known reason, 1 if not. caret_analyze is no part of this repository: without it nothing is compared.
#
# usage: scripts/compare-caret.sh -c CHECKOUT -p PYTHON [-o DIRECTORY] [-w] [-s] [DATASET...]
#   -c   checkout of https://github.com/tier4/caret_analyze, at the version to compare with
#   -p   Python that has what caret_analyze requires, its record_cpp_impl, bt2 (Debian: python3-bt2) and pyarrow
#   -o   keep datasets, traces and answers, in this new directory
#   -w   write the table into docs/latency.md
#   -s   record and compare stand-ins, too (as root); this is the default without a DATASET
#   DATASET   recordings to compare
set -euo pipefail

checkout='' python='' output='' write='' stand_ins=
while getopts c:p:o:ws option; do
	case $option in
	c) checkout=$(realpath -e "$OPTARG") ;;
	p) python=$OPTARG ;;
	o) output=$(realpath "$OPTARG") ;;
	w) write=1 ;;
	s) stand_ins=1 ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
if [ -z "$checkout" ] || [ -z "$python" ]; then
	echo "compare-caret: nothing is compared without caret_analyze; name it with -c CHECKOUT -p PYTHON" >&2
	exit 2
fi
# A link of a virtual environment is not followed: its name says which environment it is.
python=$(cd "$(dirname "$(command -v "$python")")" && pwd)/$(basename "$python")
PYTHONPATH=$checkout/src${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH
datasets=()
for dataset in "$@"; do datasets+=("$(realpath -e "$dataset")"); done
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh
make -s build
go build -o build/ ./tools/comparecaret
here=$PWD
caret_bpf=$here/build/caret-bpf

directory=$(mktemp -d)
clean_up() {
	[ -z "$output" ] || cp -r "$directory" "$output"
	as_root rm -rf "$directory"
}
trap clean_up EXIT

# caret_analyze writes a log into the folder where it runs.
if ! (cd "$directory" && "$python" -c 'import bt2, pyarrow, record_cpp_impl, caret_analyze' >/dev/null); then
	echo "compare-caret: $python cannot import caret_analyze or what it needs" >&2
	exit 2
fi

# record_stand_in records programs that run a command in build/testdata/DISTRO.
record_stand_in() {
	local name=$1 distro=$2 rmw=$3 command=$4
	(cd "build/testdata/$distro" && as_root env RMW_IMPLEMENTATION="$rmw" "$caret_bpf" record --quiet -o "$directory/datasets/$name" -- \
		bash -c "$command") >/dev/null 2>&1 </dev/null
	datasets+=("$directory/datasets/$name")
}

record_stand_ins() {
	local fast=rmw_fastrtps_cpp cyclone=rmw_cyclonedds_cpp distro
	make -s testdata
	# The recorder probes files before they are mapped that it has seen once.
	for distro in humble jazzy; do record_stand_in "first-$distro" $distro $fast './ros_node --domain 59 --duration 1'; done
	record_stand_in first-cyclone humble $cyclone './ros_node --domain 59 --duration 1'
	datasets=()
	record_stand_in inter-process jazzy $fast './ros_node --domain 61 --nodes 3 --topics 2 --chain --rate 30 --duration 3'
	record_stand_in inter-process-cyclone humble $cyclone './ros_node --domain 62 --nodes 3 --topics 1 --chain --rate 50 --duration 3'
	record_stand_in inter-process-overload jazzy $fast './ros_node --domain 63 --nodes 3 --topics 1 --chain --rate 400 --depth 1 --nested-depth 3 --nested-rate 20 --duration 1'
	record_stand_in intra-process jazzy $fast './ros_node --domain 64 --nodes 3 --topics 2 --chain --rate 30 --intra-process --duration 3'
	record_stand_in intra-process-humble humble $fast './ros_node --domain 68 --nodes 3 --topics 2 --chain --rate 30 --intra-process --duration 3'
	record_stand_in intra-process-overload jazzy $fast './ros_node --domain 65 --nodes 3 --topics 1 --chain --rate 4000 --depth 1 --intra-process --count 150 --duration 1'
	record_stand_in several-publishers jazzy $fast './ros_node --domain 66 --nodes 2 --name left --chain --rate 30 --duration 2 & ./ros_node --domain 66 --nodes 2 --name right --chain --rate 30 --duration 2; wait'
	record_stand_in random jazzy $fast './ros_node --domain 67 --random 1 --duration 2'
	as_root chmod -R a+rX "$directory"
}

# ask asks both tools all questions about one dataset.
ask() {
	local dataset=$1 name context answers path arguments
	name=$(basename "$dataset")
	answers=$directory/answers/$name
	mkdir -p "$answers/trace"
	echo "$name: $("$caret_bpf" export ctf "$dataset" -o "$answers/trace/ctf" 2>&1 | paste -sd ';')"
	"$python" test/caret/evidence.py "$dataset" "$answers/subscription.csv" "$answers/publish.csv"
	"$caret_bpf" graph "$dataset" --yaml -q >"$answers/graph.yaml"
	"$caret_bpf" paths "$dataset" --csv -q --limit 20 >"$answers/paths.csv" || true # there may be none
	for context in recorded use_latest_message variable_passing; do
		mkdir -p "$answers/$context/caret" "$answers/$context/ours"
		"$python" test/caret/architecture.py "$answers/graph.yaml" "$answers/paths.csv" "$context" >"$answers/$context/architecture.yaml"
		(cd "$answers/$context" && "$python" "$here/test/caret/answers.py" "$answers/trace" architecture.yaml caret) \
			>"$answers/$context/output.txt" 2>&1 || { tail -3 "$answers/$context/output.txt" >&2; return 2; }
		arguments=(--architecture "$answers/$context/architecture.yaml" --every-start --series --csv -q)
		ours_in() { "$caret_bpf" latency "$2" "$dataset" "${@:3}" >"$answers/$context/ours/$1.csv"; }
		ours() { ours_in "${1//-/_}" "$@"; }
		ours callback --series --csv -q
		ours communication --series --csv -q
		ours node "${arguments[@]}" || [ $? -eq 3 ] # no node has a pair
		[ "$context" != variable_passing ] || continue # no path is of these
		while read -r path; do arguments+=(--path "$path"); done < <(sed -n 's/^- path_name: //p' "$answers/$context/architecture.yaml")
		[ "${#arguments[@]}" -gt 6 ] || continue
		ours path "${arguments[@]}"
		ours_in path_with_callbacks path "${arguments[@]}" --include-first-callback --include-last-callback
		ours response-time "${arguments[@]}"
		ours_in delay response-time "${arguments[@]}" --of input
	done
}

given=("${datasets[@]}")
if [ -n "$stand_ins" ] || [ "${#given[@]}" -eq 0 ]; then
	record_stand_ins
	datasets+=("${given[@]}")
fi
systems=()
for dataset in "${datasets[@]}"; do
	ask "$dataset"
	systems+=("$directory/answers/$(basename "$dataset")")
done
build/comparecaret ${write:+-write docs/latency.md} "${systems[@]}"
