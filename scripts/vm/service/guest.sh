#!/bin/bash
# What scripts/vm/service.sh does inside of a guest, as a unit of its systemd. The job is the folder /job, shared with the host:
#
#   former, later  two versions of the package; former.version, later.version: what they call themselves
#   libraries/     what the stand-ins are linked with
#   jazzy/         the stand-ins
#   options        sandboxing options to try, a line each: survives or breaks, the options, separated by a tab; several by "; "
#
# Into it go results (a line each: PASS or FAIL, what, seconds), table (what became of each option), dmesg, what systemd logged of the
# service (service.log) and, last, finished.

readonly job=/job
# The share is away while the machine sleeps, and bash reads this file as it goes.
if [[ $0 == "$job"/* ]]; then
	cp "$0" /run/guest.sh
	exec /run/guest.sh
fi
readonly unit=/usr/lib/systemd/system/caret-bpf.service
readonly own_unit=/etc/systemd/system/caret-bpf.service
readonly datasets=/var/lib/caret-bpf
readonly metrics_port=9464
export LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin

begun=$SECONDS
result() {
	printf '%s %s (%s s)\n' "$1" "$2" "$((SECONDS - begun))" | tee -a "$job/results"
	begun=$SECONDS
}

# check runs a function, whose name says what holds.
check() {
	local what=${1//_/ }
	if "$@"; then result PASS "$what"; else result FAIL "$what"; fi
}

finish() {
	journalctl -u caret-bpf --no-pager >"$job/service.log"
	dmesg >"$job/dmesg"
	: >"$job/finished"
	systemctl poweroff
}
trap finish EXIT

# await calls a command each half second until it succeeds, or so many seconds have passed.
await() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@"; do
		[[ $SECONDS -lt $deadline ]] || return 1
		sleep 0.5
	done
}

# program runs a stand-in whose files are in a folder as the user robot.
program() {
	local folder=$1
	shift
	RMW_IMPLEMENTATION=rmw_cyclonedds_cpp LD_LIBRARY_PATH=/opt/libraries AMENT_PREFIX_PATH=$(dirname "$folder") exec runuser -u robot -- "$folder/ros_node" "$@"
}

# install_program puts the stand-ins below a folder, as ROS 2 is installed. Without Fast DDS, which is large, planning takes an emulated
# machine half the time.
install_program() {
	mkdir -p "$1/lib"
	cp "$job"/jazzy/{*.so,ros_node} "$1/lib"
	rm "$1"/lib/librmw_fastrtps*
	cp -r "$job/jazzy/share" "$1"
}

# set_up_machine installs the stand-ins for all, in the home of a user and in /tmp, and starts the last two, which run until the end.
set_up_machine() {
	ulimit -n 65536
	useradd --create-home robot
	cp -r "$job/libraries" /opt/
	install_program /opt/ros/jazzy
	local folder domain=10
	for folder in /home/robot/workspace /tmp/workspace; do
		install_program "$folder"
		chown -R robot: "$folder"
		domain=$((domain + 1))
		(program "$folder/lib" --domain $domain --rate 5 --name "early_$(cut -d / -f 2 <<<"$folder")") >/dev/null 2>&1 &
	done
	await 60 pgrep -x -U robot ros_node >/dev/null
}

# run_late runs a stand-in from its begin to its end, and sets what it did.
late_pid='' late_rows=''
run_late() {
	local truth=/tmp/truth
	rm -f "$truth"
	(program /opt/ros/jazzy/lib --domain 20 --rate 10 --duration 2 --name late --ground-truth "$truth") >/dev/null || return
	late_pid=$(sed -n '1s/.*\bpid=\([0-9]*\).*/\1/p' "$truth")
	late_rows="$(grep -c '^callback	' "$truth") $(grep -c '^publish	' "$truth")"
}

# newest_dataset prints the last one that the service has begun.
newest_dataset() { find "$datasets" -mindepth 1 -maxdepth 1 -name 'caret-bpf-*' | sort | tail -n 1; }

# examine prints what a dataset lacks, a line each.
examine() {
	local answer=/tmp/answer rows name
	caret-bpf info "$1" --json >"$answer" 2>/tmp/answer.errors || {
		echo "it cannot be read"
		return
	}
	rows=$(jq -r --argjson pid "$late_pid" '.processes[]? | select(.pid == $pid) | "\(.callbacks) \(.publishes)"' "$answer")
	[[ $rows == "$late_rows" ]] || echo "the later program has ${rows:-no} rows, not $late_rows"
	for name in early_home early_tmp; do
		jq -e --arg name "/$name" 'any(.nodes[]?; .node_name == $name and .callbacks > 0)' "$answer" >/dev/null ||
			echo "$name has no rows with its name"
	done
	jq -e '.session.complete != false and (.killed | not)' "$answer" >/dev/null || echo "it is not complete"
	[[ $(jq '.session.unstamped_types | length' "$answer") == 0 ]] || echo "message definitions were not found"
	[[ $(jq '(.losses | length) + (.unarmed | length)' "$answer") == 0 ]] || echo "something was lost"
	# Nor is it the fault of an option that an emulated machine is slow, that a callback had begun before, that the recording goes on, or
	# that the machine has slept.
	jq -r '.warnings[]?' "$answer" | grep -v 'real time jumped\|takes long\|cut short\|not all entities\|not searched\|callback rows are incomplete\|still being written' | sed 's/0x[0-9a-f]\+/N/g; s/[0-9]\+/N/g' | sort -u >/tmp/warnings
	[[ ! -e /tmp/usual ]] || comm -23 /tmp/warnings /tmp/usual | sed 's/^/it warns: /'
}

scrape() {
	exec 3<>/dev/tcp/127.0.0.1/$metrics_port || return
	printf 'GET /metrics HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' >&3
	timeout 10 cat <&3 | grep -q '^caret_bpf_build_info'
	local status=$?
	exec 3>&-
	return $status
}

# try_options records with the unit that has nothing but some options, and prints what is wrong, a line each.
try_options() {
	use_unit "$1"
	rm -rf "${datasets:?}"/* /var/cache/caret-bpf
	if ! timeout 300 systemctl start caret-bpf 2>/dev/null; then
		echo "it does not start"
		systemctl stop caret-bpf
		systemctl reset-failed caret-bpf
		return
	fi
	run_late
	timeout 20 caret-bpf ctl status >/dev/null 2>&1 || echo "it does not answer ctl"
	scrape 2>/dev/null || echo "metrics cannot be had"
	timeout 60 systemctl stop caret-bpf
	[[ $(systemctl show -P Result caret-bpf) == success ]] || echo "it ends with $(systemctl show -P Result caret-bpf)"
	examine "$(newest_dataset)"
}

# use_unit writes a unit that is the package's without sandboxing, but for some options, and with patience for a slow machine.
use_unit() {
	sed -e '/^# Sandbox/,/^$/d' -e "s/^ExecStart=.*/& --metrics 127.0.0.1:$metrics_port/" "$unit" >"$own_unit"
	mkdir -p "$own_unit.d"
	{
		printf '[Service]\nTimeoutStartSec=4min\nWatchdogSec=4min\n'
		printf '%s\n' "${1//; /$'\n'}"
	} >"$own_unit.d/options.conf"
	systemctl daemon-reload
}

# packaged_unit has the package's own unit, which a slow machine may take long to start.
packaged_unit() {
	rm -rf "$own_unit" "$own_unit.d"
	mkdir "$own_unit.d"
	printf '[Service]\nTimeoutStartSec=4min\n' >"$own_unit.d/patience.conf"
	systemctl daemon-reload
}

# try_each compares what becomes of each option with what the table says.
try_each() {
	local expected options wrong
	while IFS=$'\t' read -r expected options; do
		wrong=$(try_options "$options")
		printf '%s\t%s\n' "$options" "$(tr '\n' ';' <<<"${wrong:-survives}")" >>"$job/table"
		if [[ $expected == survives && -z $wrong || $expected == breaks && -n $wrong ]]; then
			result PASS "$options $expected: $(tr '\n' ';' <<<"$wrong")"
		else
			result FAIL "$options: $expected was expected; $(tr '\n' ';' <<<"$wrong")"
			journalctl -u caret-bpf --no-pager -n 15
		fi
	done <"$job/options"
}

files_of_the_machine() { find /etc /usr /var /run /root -xdev ! -path '/var/log/*' ! -path '/var/lib/dpkg/*' ! -path '/run/systemd/*' | sort; }

it_is_installed_and_not_enabled() {
	dpkg -i "$job/former.deb" >/dev/null && [[ $(systemctl is-enabled caret-bpf) == disabled ]] && ! systemctl -q is-active caret-bpf
}

it_is_ready_when_all_is_recorded() {
	systemctl enable -q --now caret-bpf && run_late && sleep 2 && caret-bpf ctl flush >/dev/null && complete "$(newest_dataset)"
}

# complete tells what a dataset lacks that is still recorded, but that it is complete.
complete() {
	local lacks
	lacks=$(examine "$1" | grep -v 'it is not complete')
	[[ -z $lacks ]] || {
		echo "$lacks"
		return 1
	}
}

has_restarted() { [[ $(systemctl show -P MainPID caret-bpf) != "$1" && $(systemctl is-active caret-bpf) == active ]]; }

the_watchdog_restarts_it_when_it_is_stopped() {
	local former pid
	former=$(newest_dataset)
	pid=$(systemctl show -P MainPID caret-bpf)
	kill -STOP "$pid"
	await 300 has_restarted "$pid" && run_late && sleep 2 && caret-bpf ctl flush >/dev/null &&
		[[ $(newest_dataset) != "$former" ]] && caret-bpf info "$former" >/dev/null && complete "$(newest_dataset)"
}

it_asks_how_well_real_time_is_synchronized() { caret-bpf info "$(newest_dataset)" --json 2>/dev/null | jq -e '.real_time.asked > 1' >/dev/null; }

a_restart_begins_another_dataset() {
	local former
	former=$(newest_dataset)
	systemctl restart caret-bpf && run_late && sleep 2 && caret-bpf ctl flush >/dev/null &&
		[[ $(newest_dataset) != "$former" ]] && closed "$former" && complete "$(newest_dataset)"
}

closed() { caret-bpf info "$1" --json 2>/dev/null | jq -e '(.live or .killed) | not' >/dev/null; }

version_of() { caret-bpf info "$1" --json 2>/dev/null | jq -r .session.recorder.version; }

# sleep_machine suspends the machine to memory for so many seconds. The share's device forgets what it was doing.
sleep_machine() {
	local driver=/sys/bus/virtio/drivers/9pnet_virtio alarm=/sys/class/rtc/rtc0/wakealarm device has_slept=
	device=$(basename "$driver"/virtio*)
	umount "$job" && echo "$device" >"$driver/unbind" || return
	echo 0 >$alarm
	echo "+$1" >$alarm
	echo mem >/sys/power/state && has_slept=yes
	echo "$device" >"$driver/bind"
	mount -t 9p -o cache=none,trans=virtio,version=9p2000.L,msize=512000 job "$job" && [[ $has_slept ]]
}

it_records_on_when_the_machine_has_slept() {
	local slept=30 restarts answer=/tmp/slept
	restarts=$(systemctl show -P NRestarts caret-bpf)
	sleep_machine $slept && sleep 15 && run_late && sleep 2 && caret-bpf ctl flush >/dev/null && complete "$(newest_dataset)" &&
		[[ $(systemctl show -P NRestarts caret-bpf) == "$restarts" ]] &&
		caret-bpf info "$(newest_dataset)" --json >$answer 2>/dev/null || return
	# Real time went on, and no callback took as long as the machine slept.
	jq -e --argjson least $(((slept - 5) * 1000000000)) \
		'(.clock_steps | length == 1) and .clock_steps[0].nanoseconds > $least and all(.callbacks[]; .max_time < $least)' $answer >/dev/null || {
		jq -c .clock_steps $answer
		return 1
	}
}

an_upgrade_leaves_it_recording() {
	local pid
	pid=$(systemctl show -P MainPID caret-bpf)
	dpkg -i "$job/later.deb" >/dev/null && [[ $(systemctl show -P MainPID caret-bpf) == "$pid" ]] &&
		run_late && sleep 2 && caret-bpf ctl flush >/dev/null && complete "$(newest_dataset)" &&
		[[ $(version_of "$(newest_dataset)") == "$(<"$job/former.version")" ]] &&
		systemctl restart caret-bpf && [[ $(version_of "$(newest_dataset)") == "$(<"$job/later.version")" ]]
}

no_probe_is_left() { [[ -z $(cat /sys/kernel/tracing/uprobe_events) ]] && ! pgrep -x caret-bpf >/dev/null; }

a_removal_ends_it() {
	local last
	last=$(newest_dataset)
	cp /usr/bin/caret-bpf /tmp/caret-bpf
	dpkg -r caret-bpf >/dev/null && ! systemctl -q is-active caret-bpf && no_probe_is_left &&
		/tmp/caret-bpf info "$last" --json | jq -e '(.live or .killed) | not' >/dev/null &&
		[[ -e /etc/caret-bpf/session.yaml && ! -e /etc/systemd/system/multi-user.target.wants/caret-bpf.service ]]
}

a_purge_leaves_recordings_alone() {
	rm -rf "$own_unit.d"
	dpkg -P caret-bpf >/dev/null || return
	local left
	left=$(files_of_the_machine | grep -v "^$datasets" | comm -13 /tmp/files -)
	[[ -z $left && -n $(newest_dataset) ]] || {
		echo "left: $left"
		return 1
	}
}

a_ring_makes_snapshots() {
	local settings=/etc/caret-bpf/session.yaml status
	cp $settings /tmp/settings
	echo 'ring: 30s' >>$settings
	systemctl start caret-bpf && run_late && sleep 2 && caret-bpf ctl snapshot &&
		complete "$(dirname "$(find "$(newest_dataset)" -mindepth 2 -name session.json)")"
	status=$?
	systemctl stop caret-bpf
	cp /tmp/settings $settings
	return $status
}

has_told() { grep -q '"recorder"' /tmp/systemd-private-*-caret-bpf.service-*/tmp/told 2>/dev/null; }

# The program of a trigger is nobody's, and has the service's own /tmp.
a_triggers_program_reads_its_snapshot() {
	local settings=/etc/caret-bpf/session.yaml program=/usr/local/bin/tell status
	cp $settings /tmp/settings
	# shellcheck disable=SC2016 # it expands when the program runs
	printf '#!/bin/sh\ncat "$CARET_BPF_SNAPSHOT/session.json" >/tmp/told\n' >$program
	chmod 755 $program
	printf 'ring: 30s\nmode: 0644\ntrigger: manual after=0s do=snapshot,run:%s\n' $program >>$settings
	systemctl start caret-bpf && caret-bpf ctl fire manual >/dev/null && await 60 has_told
	status=$?
	systemctl stop caret-bpf
	cp /tmp/settings $settings
	rm $program
	return $status
}

set_up_machine
files_of_the_machine >/tmp/files
result PASS "the machine is set up"
check it_is_installed_and_not_enabled
try_options '' >/tmp/plain
cp /tmp/warnings /tmp/usual
if [[ -s /tmp/plain ]]; then result FAIL "nothing of a sandbox: $(tr '\n' ';' </tmp/plain)"; else result PASS "nothing of a sandbox"; fi
cp /tmp/usual "$job/usual"
packaged_unit
if [[ ! -e $job/only-options ]]; then
	check it_is_ready_when_all_is_recorded
	check it_asks_how_well_real_time_is_synchronized
	check the_watchdog_restarts_it_when_it_is_stopped
	check a_restart_begins_another_dataset
	check it_records_on_when_the_machine_has_slept
	check an_upgrade_leaves_it_recording
	systemctl stop caret-bpf
	check a_ring_makes_snapshots
	check a_triggers_program_reads_its_snapshot
fi
try_each
packaged_unit
check a_removal_ends_it
check a_purge_leaves_recordings_alone
