# shellcheck shell=bash
# shellcheck disable=SC2154 # variables of the script "cluster", which sources this
# What the script "cluster" runs inside the namespaces that it makes. Sourced by it; called as
# "cluster _NAME FOLDER ...". All process numbers here are those inside the cluster's pid namespace,
# unless stated otherwise.
#
#   cluster   pid, mount (and user) namespace    wire, one holder process per node
#   node      net, uts, ipc, mount               /dev/shm, TMPDIR, host name, eth0
#   job       pid, mount                         one "cluster run": mpirun and the ranks
#
# FOLDER/proc shows the processes of the cluster in every namespace, even where /proc shows only a
# job's: that is how a job finds the other nodes.

inside_main() {
    local name=$1
    folder=$2
    shift 2
    "inside$name" "$@"
}

# Node i has the address $network.(i+1). Every cluster has its own network, so all use the same.
readonly network=10.77.0

# ---------------------------------------------------------------- making the cluster

# Process 1 of the cluster.
inside_init() {
    local nodes=$1 helpers=$2 node ready wire holder
    remember_own_host_process
    mount -t proc proc /proc
    mount -t proc proc "$folder/proc"
    write_shared_files "$nodes"

    exec {ready}<> <(:)
    for ((node = 0; node < nodes; node++)); do start_node "$node"; done
    for ((node = 0; node < nodes; node++)); do
        read -r -t 300 -u "$ready" _ || die 'a node did not start'
    done
    start_wire
    for ((node = 0; node < nodes; node++)); do
        find_holder "n$node"
        nsenter --net="/proc/$holder/ns/net" "$self" _network "$folder" "$node"
    done

    touch "$folder/up"
    echo up
    exec >&2
    # Nothing works without the wire. Waiting also clears away processes whose parents died.
    wait "$wire" || true
    say 'the network process ended'
}

# The keeper needs the number of this process on the host, which /proc shows until it is replaced.
remember_own_host_process() {
    local number started
    read -r number _ </proc/self/stat
    find_start "$number"
    echo "$number $started" >"$folder/init"
}

write_shared_files() {
    local node
    {
        echo '127.0.0.1 localhost'
        for ((node = 0; node < $1; node++)); do echo "$network.$((node + 1)) n$node"; done
    } >"$folder/hosts"
    # What mpirun takes for ssh must be one word.
    printf '#!/bin/sh\nexec "%s" _agent "%s" "$@"\n' "$self" "$folder" >"$folder/agent"
    chmod +x "$folder/agent"
}

start_node() {
    unshare --net --uts --ipc --mount "$self" _node "$folder" "$1" >&"$ready" &
    echo "n$1 $!" >>"$folder/nodes"
}

# Holds the namespaces of a node open.
inside_node() {
    hostname "n$1"
    mount -t tmpfs -o mode=1777 tmpfs /dev/shm
    mount -t tmpfs -o mode=1777 tmpfs "$folder/tmp"
    mount -t sysfs sysfs /sys 2>/dev/null || true # so that it lists this node's network devices
    mount --bind "$folder/hosts" /etc/hosts
    echo ready
    exec sleep infinity >/dev/null
}

start_wire() {
    local name holder namespaces=()
    while read -r name holder; do namespaces+=("/proc/$holder/ns/net"); done <"$folder/nodes"
    "$helpers/cluster_wire" --settings "$folder/limits" --report "$folder/report" \
        "${namespaces[@]}" >&"$ready" &
    wire=$!
    echo "$wire" >"$folder/wire"
    read -r -t 300 -u "$ready" _ || die 'the network did not start'
}

# In the network namespace of node $1. The network loses nothing, however long its queues, so
# nothing may be sent twice: no short retransmission timers, no tail loss probes. Messages are
# counted one by one, so none may wait to be sent together with the next.
inside_network() {
    local address=$network.$(($1 + 1))
    write_setting tcp_early_retrans 0
    write_setting tcp_autocorking 0
    write_setting tcp_slow_start_after_idle 0
    write_setting tcp_no_metrics_save 1
    write_setting tcp_rmem '4096 4194304 16777216'
    write_setting tcp_wmem '4096 4194304 16777216'
    echo 1 2>/dev/null >/proc/sys/net/ipv6/conf/eth0/disable_ipv6 || true
    ip -batch - <<END
link set lo up
link set eth0 mtu 65000 txqueuelen 10000 up
addr add $address/24 dev eth0
route replace $network.0/24 dev eth0 src $address rto_min 20s initcwnd 1000 initrwnd 1000
END
}

write_setting() {
    { echo "$2" >"/proc/sys/net/ipv4/$1"; } 2>/dev/null || say "cannot set $1 to $2"
}

inside_signal() { kill -"$1" "$(<"$folder/wire")"; }

# ---------------------------------------------------------------- entering a node

# Sets `holder` to the process that holds the namespaces of node $1.
find_holder() {
    local name
    while read -r name holder; do [[ $name != "$1" ]] || return 0; done <"$folder/nodes"
    die "there is no node '$1'"
}

# Replaces this process by a command on a node: NAME COMMAND... Works from inside a job, too.
exec_in_node() {
    local holder files
    find_holder "$1"
    shift
    files=$folder/proc/$holder/ns
    exec nsenter --net="$files/net" --uts="$files/uts" --ipc="$files/ipc" --mount="$files/mnt" "$@"
}

inside_exec() {
    local node=$1 directory=$2
    shift 2
    export TMPDIR=$folder/tmp
    exec_in_node "$node" "$self" _at "$folder" "$directory" "$@"
}

inside_at() {
    cd "$1" || die "no folder $1 on the node"
    shift
    exec "$@"
}

# The "remote shell" of mpirun: [-options] HOST words of a shell command.
inside_agent() {
    local host
    while [[ $1 == -* ]]; do shift; done
    host=$1
    shift
    exec_in_node "$host" unshare --mount "$self" _daemon "$folder" "$PWD" "$*"
}

# The job has its own pid namespace, and libraries expect /proc to show the numbers that getpid()
# returns, for example in /proc/PID/fd of another rank.
inside_daemon() {
    mount -t proc proc /proc
    inside_at "$1" /bin/sh -c "$2"
}

# ---------------------------------------------------------------- jobs

inside_launch() {
    exec_in_node n0 unshare --pid --fork --kill-child --mount "$self" _job "$folder" "$@"
}

# Process 1 of a job: DIRECTORY SECONDS COMMAND... When it ends, all ranks end.
inside_job() {
    local directory=$1 limit=$2 mpirun is_late=no status=0
    shift 2
    mount -t proc proc /proc
    choose_process_numbers
    cd "$directory" || die "no folder $directory on the node"
    TMPDIR=$folder/tmp "$@" <&0 &
    mpirun=$!
    # Not by waiting for either: bash may miss the one that has ended before it begins to wait.
    trap 'is_late=yes' USR1
    if ((limit > 0)); then (sleep "$limit" && kill -USR1 $$) & fi
    wait "$mpirun" || status=$?
    [[ $is_late = no ]] && exit "$status"
    say "the job has not ended after $limit seconds; this is where its ranks are:"
    report_ranks >&2
    exit 124
}

# Open MPI names files on the nodes after the process number of mpirun. The namespaces of two jobs
# must therefore not both begin with 2: this one goes on from our own number in the cluster.
choose_process_numbers() {
    local number
    read -r number _ <"$folder/proc/self/stat"
    { echo "$number" >/proc/sys/kernel/ns_last_pid; } 2>/dev/null ||
        say 'cannot choose process numbers; simultaneous jobs of Open MPI may disturb each other'
}

# ---------------------------------------------------------------- where the ranks are

inside_where() { report_ranks; }

# Sets `rank` and `node`, empty if process $1 is no rank. The node is found by its host name.
examine_process() {
    local variables variable
    rank='' node=''
    mapfile -d '' -t variables 2>/dev/null <"/proc/$1/environ" || return 0
    for variable in "${variables[@]}"; do
        case $variable in
            PMI_RANK=* | OMPI_COMM_WORLD_RANK=*) rank=${variable#*=} ;;
        esac
    done
    [[ ! $rank ]] || node=$(nsenter --target "$1" --uts cat /proc/sys/kernel/hostname) || true
}

# Reports every rank in /proc: those of one job, or of all jobs of the cluster. The children of a
# wrapper script are reported, too.
report_ranks() {
    local process rank node ranks=()
    for process in /proc/[0-9]*; do
        examine_process "${process#/proc/}"
        [[ ! $rank ]] || ranks+=("$rank ${process#/proc/} $node")
    done
    ((${#ranks[@]} > 0)) || { echo 'no ranks run' && return; }
    while read -r rank process node; do
        echo "rank $rank on $node: $(describe_process "$process")"
        print_stack "$process" | sed 's/^/    /'
    done < <(printf '%s\n' "${ranks[@]}" | sort -n)
}

describe_process() {
    local name state _
    if { read -r _ name state _ <"/proc/$1/stat"; } 2>/dev/null; then
        echo "process $1 $name, state $state"
    else
        echo 'ended meanwhile'
    fi
}

print_stack() {
    local stack=''
    if command -v gdb >/dev/null; then
        stack=$(timeout 30 gdb -nx -batch -p "$1" -ex 'thread apply all backtrace' \
            2>/dev/null </dev/null | grep -E '^(#|Thread )') || true
    fi
    [[ ! $stack ]] || { echo "$stack" && return; }
    echo "waits in: $(cat "/proc/$1/wchan" 2>/dev/null)"
    cat "/proc/$1/stack" 2>/dev/null || true
}
