#!/bin/sh
# Ends the service before its program is removed; an upgrade (deb: upgrade, rpm: 1) leaves it alone.
set -e
case "$1" in
upgrade | 1) ;;
*) [ ! -d /run/systemd/system ] || systemctl disable --now caret-bpf.service ;;
esac
