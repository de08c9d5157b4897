# shellcheck shell=sh
# Read by the entrypoints of images with sshd and sssd. Both run beside the main daemon, as children
# of tini, and tini -g passes the container's signals on to them.

# Runs a service again whenever it ends, once every few seconds at most.
keep_running() {
    (
        while true; do
            "$@" || echo "$1 ended with status $?" >&2
            sleep 3
        done &
    )
}

start_sssd() {
    [ -s /etc/sssd/sssd.conf ] || return 0
    eval "set -- ${SSSD_OPTIONS:-}"
    keep_running /usr/sbin/sssd -i "$@"
}

start_sshd() {
    mkdir -p /run/sshd
    # Makes the host keys that are missing: those from a mounted secret stay.
    ssh-keygen -A
    eval "set -- ${SSHD_OPTIONS:-}"
    keep_running /usr/sbin/sshd -D -e "$@"
}
