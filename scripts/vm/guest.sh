#!/bin/bash
# Runs the job of a guest as its process 1 and powers the guest off. The job is the folder /run/vm, shared with the host:
#
#   environment  assignments that every test sees (may be empty)
#   command      if present, a shell command, run on the console instead of tests
#   tests        else, a line a package: number, import path, package folder, test binary, separated by tabs
#   arguments    of every test, one a line
#
# and into it go <number>.log and <number>.status for each package (or command.status), the kernel's `release` and `dmesg`,
# the seconds since boot when the first test `booted` and at the end (`uptime`) and, last, `finished`.

job=/run/vm
export HOME=/root USER=root LOGNAME=root TERM=dumb LANG=C.UTF-8
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
cd /

finish() {
	dmesg >"$job/dmesg"
	cut -d ' ' -f 1 /proc/uptime >"$job/uptime"
	: >"$job/finished"
	sync
	echo o >/proc/sysrq-trigger
	# The kernel powers off a moment later; process 1 must not end before.
	sleep 60
}
trap finish EXIT

cut -d ' ' -f 1 /proc/uptime >"$job/booted"
uname -r >"$job/release"
ulimit -l unlimited
ulimit -n 65536
echo 1 >/proc/sys/kernel/sysrq
set -a
# shellcheck source=/dev/null
. "$job/environment"
set +a

if [[ -e $job/command ]]; then
	# A session and a controlling terminal, for job control and Ctrl-C.
	setsid --ctty --wait /bin/bash "$job/command" </dev/console >/dev/console 2>&1
	echo $? >"$job/command.status"
	exit
fi

mapfile -t arguments <"$job/arguments"
while IFS=$'\t' read -r number import folder binary; do
	echo "vm: running $import"
	(cd "$folder" && exec "$binary" "${arguments[@]}") >"$job/$number.log" 2>&1 </dev/null
	echo $? >"$job/$number.status"
done <"$job/tests"
