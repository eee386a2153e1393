# shellcheck shell=bash
# Sourced by scripts that fetch a Debian release other than the host's: from where, and whose signatures count. Needs a function die.

# debian_mirror prints the base address of the host's Debian mirror.
debian_mirror() {
	if [[ -n ${DEBIAN_MIRROR:-} ]]; then
		echo "$DEBIAN_MIRROR"
		return
	fi
	# The archive proper is the repository whose own path ends in /debian; security and third-party ones do not carry
	# the releases asked for here.
	# shellcheck disable=SC2016  # the format is apt's to expand
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
		grep -m1 -E '/debian/?$' ||
		die "no Debian mirror among this host's apt sources; name one in DEBIAN_MIRROR"
}

# debian_keyring prints the keyring that signs Debian's releases.
debian_keyring() {
	local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	[[ -r $keyring ]] || die "$keyring is missing: install debian-archive-keyring"
	echo "$keyring"
}
