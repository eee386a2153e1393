#!/usr/bin/env bash
# Runs Go tests, as root, in emulated machines with the kernels of the support matrix (lib.sh).
#
# usage: scripts/vm/run.sh [option...] [--] [package...]
#
#   --kernel NAME       only this kernel (may be repeated): 6.1, 6.1-rt, 6.12-full, arm64-6.1 or arm64-6.12; default: all but the last
#                       two
#   --run REGEXP        only these tests (`go test -run`)
#   --short             tests see testing.Short()
#   --env NAME=VALUE    set in the guest (may be repeated)
#   --boot ARGUMENT     add this to the kernel's command line (may be repeated), such as lockdown=integrity
#   --timeout SECONDS   for one kernel, boot included; default 3600
#   --command COMMAND   run this shell command on the guest's console instead of tests; `bash` gives a shell
#   --keep              keep the logs of a kernel that passed (those of one that failed are always kept)
#
# Packages are what `go list` takes, in the current folder's module; default ./... . Those without tests are left out, and
# test binaries are compiled on the host. Each runs in its package folder.
#
# A guest has 2 CPUs, 3 GiB and the host's root file system, read-only, at the same paths: what was built on the host is
# there, with the libraries it links. Writable, and empty at boot: /tmp, /var/tmp, /run, /dev/shm, /root. It has tracefs,
# debugfs, securityfs, bpffs, cgroup2, loopback, and a dummy network card (192.0.2.1) for multicast. KVM is used where the host has it.
# A guest of another architecture has a Debian of that architecture instead, with a compiler, and of the host only this repository,
# with stand-ins that were cross-compiled.
#
# For each kernel and package one line PASS or FAIL, and for each kernel a last one. A package in which no test passed
# failed: everything skipped shows nothing. A kernel that logged an oops or a warning failed. Exits 0 when all passed, 1 when
# not, 2 when nothing could be run.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }

kernels=()
packages=()
environment=(CARET_BPF_OWN_CLOCK=1) # tests may set the guest's clock
arguments=(-test.v)
boot_arguments=()
timeout=3600
command=
keep=

parse() {
	while [[ $# -gt 0 ]]; do
		case $1 in
		--kernel | --run | --env | --boot | --timeout | --command)
			[[ $# -ge 2 ]] || die "$1 needs a value"
			;;&
		--kernel)
			kernel_source "$2" >/dev/null
			kernels+=("$2")
			shift
			;;
		--run)
			arguments+=("-test.run=$2")
			shift
			;;
		--env)
			environment+=("$2")
			shift
			;;
		--boot)
			boot_arguments+=("$2")
			shift
			;;
		--timeout)
			timeout=$2
			shift
			;;
		--command)
			command=$2
			shift
			;;
		--short) arguments+=(-test.short) ;;
		--keep) keep=yes ;;
		--help | -h)
			usage
			exit
			;;
		--)
			shift
			packages+=("$@")
			break
			;;
		-*) die "unknown option $1 (see --help)" ;;
		*) packages+=("$1") ;;
		esac
		shift
	done
	[[ ${#kernels[@]} -gt 0 ]] || kernels=("${native_kernels[@]}")
	[[ ${#packages[@]} -gt 0 ]] || packages=(./...)
}

# prepare makes what guests of an architecture need, besides a kernel.
prepare() {
	case $1 in
	amd64) need_program qemu-system-x86_64 qemu-system-x86 ;;
	arm64)
		need_program qemu-system-aarch64 qemu-system-arm
		need_program aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
		make -s -C "$repo_dir/testdata" OUTPUT="$cache_dir/testdata-arm64" CROSS=aarch64-linux-gnu- SYSROOT="$(foreign_root arm64)" >&2 ||
			die "the stand-ins do not compile for arm64"
		mkdir -p "$repo_dir/build/testdata" "$(foreign_root arm64)$repo_dir"
		;;
	esac
}

# compile_tests compiles the tests of the packages for an architecture into a folder and prints a line for each: number, import path,
# package folder, binary.
compile_tests() {
	local into=$1 number=0 import folder
	# The host's architecture keeps the settings of the environment.
	[[ $2 == amd64 ]] || local -x GOARCH=$2 CGO_ENABLED=0
	go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{"\t"}}{{.Dir}}{{end}}' "${packages[@]}" >"$into/packages"
	while IFS=$'\t' read -r import folder; do
		number=$((number + 1))
		go test -c -o "$into/$number.test" "$import" >&2 || die "the tests of $import do not compile"
		printf '%s\t%s\t%s\t%s\n' "$number" "$import" "$folder" "$into/$number.test"
	done < <(grep . "$into/packages")
}

# boot runs the job in a folder under a kernel, its console on standard output.
boot() {
	local kernel=$1 job=$2 architecture accel
	architecture=$(architecture_of "$kernel")
	accel=$(accelerator "$architecture")
	local cpu=max keep=$repo_dir root=/ console=ttyS0 machine=(qemu-system-x86_64)
	[[ $accel == tcg* ]] || cpu=host
	local extra=
	if [[ $architecture == arm64 ]]; then
		# Pointers are authenticated in a way that costs the emulator little.
		cpu=max,pauth-impdef=on root=$(foreign_root arm64) console=ttyAMA0 machine=(qemu-system-aarch64 -machine virt)
		machine+=(-virtfs "local,path=$repo_dir,mount_tag=repository,security_model=none,readonly=on,multidevs=remap")
		extra="vm.repository=$repo_dir vm.testdata=$cache_dir/testdata-arm64"
	elif [[ $module != "$repo_dir" ]]; then
		keep+=,$module
	fi
	make_initramfs "$kernel" "$vm_dir/init" "$job.initramfs"
	# Mitigations cost emulated machines a lot and guard nothing here. An oops is a panic and ends QEMU,
	# because what hangs after it would only cost the time limit.
	# setpriv: a guest does not outlive this script, however that ends.
	setpriv --pdeathsig TERM timeout --foreground -k 10 "$timeout" nice -n 5 "${machine[@]}" \
		-accel "$accel" -cpu "$cpu" -smp 2 -m 3072 \
		-nodefaults -no-user-config -display none -no-reboot \
		-chardev stdio,id=console,signal=off -serial chardev:console \
		-kernel "$cache_dir/kernels/$kernel/vmlinuz" -initrd "$job.initramfs" \
		-append "console=$console quiet loglevel=4 oops=panic panic=-1 mitigations=off vm.keep=$keep vm.guest=$vm_dir/guest.sh $extra $(kernel_arguments "$kernel") ${boot_arguments[*]}" \
		-virtfs "local,path=$root,mount_tag=root,security_model=none,readonly=on,multidevs=remap" \
		-virtfs "local,path=$job,mount_tag=job,security_model=none"
}

# count prints how many top-level tests of a log ended in a state.
count() { grep -c "^--- $1: " "$2" || true; }

# report prints the lines of one kernel's tests; its status says whether all passed.
report() {
	local kernel=$1 job=$2 number import log verdict passed=yes some=
	while IFS=$'\t' read -r number import _; do
		log=$job/$number.log
		touch "$log"
		if [[ ! -e $job/$number.status ]]; then
			verdict="FAIL (did not finish)"
		elif [[ $(<"$job/$number.status") -ne 0 ]]; then
			verdict="FAIL (exit status $(<"$job/$number.status"))"
		elif grep -q '^testing: warning: no tests to run' "$log"; then
			# None matches --run.
			continue
		elif [[ $(count PASS "$log") -eq 0 ]]; then
			verdict="FAIL (no test passed)"
		else
			verdict=PASS
			some=yes
		fi
		echo "$verdict $kernel $import: $(count PASS "$log") passed, $(count FAIL "$log") failed, $(count SKIP "$log") skipped"
		if [[ $verdict != PASS ]]; then
			passed=
			{ grep -E '^ *--- FAIL: |^panic: ' "$log" || tail -n 20 "$log"; } | sed 's/^/    /'
		fi
	done <"$job/tests"
	[[ $some ]] || echo "    no test passed"
	[[ $passed && $some ]]
}

# try_kernel runs the tests, or the command, under one kernel and reports.
try_kernel() {
	local kernel=$1 job=$runs/$1 passed=yes
	mkdir "$job"
	local assignment
	for assignment in "${environment[@]}"; do
		printf '%s=%q\n' "${assignment%%=*}" "${assignment#*=}"
	done >"$job/environment"
	if [[ -n $command ]]; then
		printf '%s\n' "$command" >"$job/command"
		boot "$kernel" "$job"
		[[ -e $job/command.status && $(<"$job/command.status") -eq 0 ]]
		return
	fi
	printf '%s\n' "${arguments[@]}" >"$job/arguments"
	cp "$runs/$(architecture_of "$kernel")/tests" "$job/tests"
	boot "$kernel" "$job" </dev/null >"$job/console.log" 2>&1 || true
	rm "$job.initramfs"
	report "$kernel" "$job" || passed=
	if kernel_complaints "$job/dmesg" "$job/console.log" | sort -u | sed "s/^/    /"; then
		passed=
	fi
	if [[ ! -e $job/finished ]]; then
		passed=
		echo "    the guest died or ran out of its $timeout seconds; its console ended:"
		tail -n 10 "$job/console.log" | sed 's/^/    /'
	fi
	local release=unknown booted=never uptime=unknown file
	for file in release booted uptime; do
		[[ ! -e $job/$file ]] || printf -v "$file" %s "$(<"$job/$file")"
	done
	local summary
	summary="$kernel: Linux $release ($(accelerator "$(architecture_of "$kernel")")), tests began after $booted s, ended after $uptime s"
	if [[ -z $passed ]]; then
		echo "FAIL $summary; logs in ${job#"$repo_dir"/}"
		return 1
	fi
	echo "PASS $summary"
	[[ -n $keep ]] || rm -rf "$job"
}

main() {
	parse "$@"
	module=$(go list -m -f '{{.Dir}}')
	local kernel architecture architectures=() failed=
	for kernel in "${kernels[@]}"; do
		"$vm_dir/fetch.sh" "$kernel"
	done
	mapfile -t architectures < <(for kernel in "${kernels[@]}"; do architecture_of "$kernel"; done | sort -u)
	for architecture in "${architectures[@]}"; do
		prepare "$architecture"
	done
	mkdir -p "$cache_dir/runs"
	runs=$(mktemp -d "$cache_dir/runs/$(date +%Y%m%d-%H%M%S).XXXX")
	if [[ -z $command ]]; then
		# Half the time, so that a package that hangs is told by its own test binary and not by the end of the guest.
		arguments+=("-test.timeout=$((timeout / 2))s")
		for architecture in "${architectures[@]}"; do
			mkdir "$runs/$architecture"
			compile_tests "$runs/$architecture" "$architecture" >"$runs/$architecture/tests"
			[[ -s $runs/$architecture/tests ]] || die "no package with tests"
		done
	fi
	for kernel in "${kernels[@]}"; do
		try_kernel "$kernel" || failed=yes
	done
	if [[ $failed || $keep ]]; then
		rm -f "$runs"/*/*.test "$runs"/*.initramfs
	else
		rm -rf "$runs"
	fi
	[[ ! $failed ]]
}

main "$@"
