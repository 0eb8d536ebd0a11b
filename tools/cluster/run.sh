# shellcheck shell=bash
# shellcheck disable=SC2154 # variables of the script "cluster", which sources this
# "cluster run": where the ranks go, and the mpirun command that puts them there.

cmd_run() {
    local name=${CLUSTER_NAME:-default} mpi='' per_node='' map=block limit=120 folder
    local variables=() mpirun_options=() preload=''
    while (($#)) && [[ $1 != -- ]]; do
        (($# > 1)) || misuse "run: $1 needs a value"
        case $1 in
            -c) name=$2 ;;
            --mpi) mpi=$2 ;;
            -p) per_node=$2 ;;
            --map) map=$2 ;;
            -t) limit=$2 ;;
            -x) add_variable "$2" ;;
            *) misuse "run: unknown option $1" ;;
        esac
        shift 2
    done
    shift $(($# > 0 ? 1 : 0))
    if [[ ${1-} == -* ]]; then
        while (($#)) && [[ $1 != -- ]]; do mpirun_options+=("$1") && shift; done
        while [[ ${1-} == -- ]]; do shift; done
    fi
    (($# > 0)) || misuse 'run: "-- PROGRAM" is needed'
    [[ $limit =~ ^[0-9]+$ ]] || misuse 'run: -t needs whole seconds; 0 means no limit'
    need_cluster "$name"
    need_helpers
    launch "$@"
}

add_variable() {
    local variable=$1
    [[ $variable == *=* ]] || variable=$1=${!1-} # as mpirun: the value that it has here
    case $variable in
        LD_PRELOAD=*) preload=${variable#*=} ;;
        *) variables+=("$variable") ;;
    esac
}

# Runs PROGRAM args in the cluster. The namespaces nest: cluster, first node, and a pid namespace
# of the job's own, so that the death of this process ends all ranks.
launch() {
    local node_of_rank=() rank_count=() command=() settings=() into_cluster
    place_ranks
    variables+=("LD_PRELOAD=${preload:+$preload:}$helpers/libcalm.so")
    case $mpi in
        openmpi) openmpi_command ;;
        mpich) mpich_command ;;
        *) misuse 'run: --mpi openmpi or --mpi mpich is needed' ;;
    esac
    enter_cluster
    exec "${into_cluster[@]}" "$self" _launch "$folder" "$PWD" "$limit" env "${settings[@]}" \
        "${command[@]}" "${mpirun_options[@]}" "$@"
}

# Sets node_of_rank and rank_count, the ranks of each node, from -p and --map.
place_ranks() {
    local nodes node largest=0 round
    nodes=$(wc -l <"$folder/nodes")
    if [[ $map == *[0-9]* ]]; then
        IFS=, read -ra node_of_rank <<<"$map"
    else
        count_ranks
        for node in "${rank_count[@]}"; do ((node <= largest)) || largest=$node; done
        case $map in
            block) place_blocks ;;
            cyclic) for ((round = 0; round < largest; round++)); do deal_round "$round"; done ;;
            *) misuse "run: --map is block, cyclic or the node of each rank (0,1,1,0)" ;;
        esac
    fi
    ((${#node_of_rank[@]} > 0)) || misuse 'run: no ranks'
    rank_count=()
    for ((node = 0; node < nodes; node++)); do rank_count+=(0); done
    for node in "${node_of_rank[@]}"; do
        [[ $node =~ ^[0-9]{1,3}$ ]] || misuse "run: '$node' is no number of a node"
        ((node < nodes)) || misuse "run: there is no node $node"
        rank_count[node]=$((rank_count[node] + 1))
    done
}

# Sets rank_count from -p: one number for all nodes, or one each.
count_ranks() {
    local node
    [[ $per_node =~ ^[0-9]+(,[0-9]+)*$ ]] ||
        misuse 'run: -p RANKS_PER_NODE is needed, as 4 or 3,5,2'
    IFS=, read -ra rank_count <<<"$per_node"
    if ((${#rank_count[@]} == 1)); then
        for ((node = 1; node < nodes; node++)); do rank_count+=("${rank_count[0]}"); done
    fi
}

place_blocks() {
    local node i
    for ((node = 0; node < ${#rank_count[@]}; node++)); do
        for ((i = 0; i < rank_count[node]; i++)); do node_of_rank+=("$node"); done
    done
}

# One rank to each node that has room for a rank in round $1.
deal_round() {
    local node
    for ((node = 0; node < ${#rank_count[@]}; node++)); do
        ((rank_count[node] <= $1)) || node_of_rank+=("$node")
    done
}

find_program() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null && echo "$program" && return
    done
    die "none of these is installed: $*"
}

# The settings are variables rather than options, so that options given by the user win.
openmpi_command() {
    local variable program
    program=$(find_program mpirun.openmpi mpirun)
    # shellcheck disable=SC2054 # the commas belong to the values
    settings=(
        OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent="$folder/agent" OMPI_MCA_plm_rsh_no_tree_spawn=1
        OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp
        OMPI_MCA_oob_tcp_if_include=eth0 OMPI_MCA_btl_tcp_if_include=eth0
        OMPI_MCA_orte_tmpdir_base="$folder/tmp"
        OMPI_MCA_mpi_yield_when_idle=1 # without it nothing finishes
        OMPI_MCA_mpi_event_tick_rate=1 # else it now and then looks at its sockets every 10 ms only
        OMPI_MCA_opal_event_include=epoll # what libcalm.so waits on
    )
    command=("$program" --allow-run-as-root --oversubscribe --bind-to none
        --map-by seq --host "$(node_list "${node_of_rank[@]}")" -np "${#node_of_rank[@]}")
    for variable in "${variables[@]}"; do command+=(-x "$variable"); done
}

mpich_command() {
    local variable placement=() program
    program=$(find_program mpirun.mpich mpiexec.hydra mpirun)
    mpich_placement
    # shellcheck disable=SC2054
    settings=(UCX_TLS=tcp,posix,sysv,self UCX_NET_DEVICES=eth0)
    command=("$program" -launcher ssh -launcher-exec "$folder/agent" -iface eth0 -bind-to none
        "${placement[@]}" -n "${#node_of_rank[@]}")
    for variable in "${variables[@]}"; do command+=(-genv "${variable%%=*}" "${variable#*=}"); done
}

# Hydra deals in blocks of any sizes, or round-robin to nodes with equally many ranks. For anything
# else the host of every rank is listed, and libcalm.so corrects what MPICH makes of that.
mpich_placement() {
    local node used=() counted='' different=''
    for ((node = 0; node < ${#rank_count[@]}; node++)); do
        ((rank_count[node] > 0)) || continue
        used+=("$node") counted+=,n$node:${rank_count[node]}
        ((rank_count[node] == rank_count[used[0]])) || different=1
    done
    if [[ $map == block ]]; then
        placement=(-hosts "${counted#,}")
    elif [[ $map == cyclic && ! $different ]]; then
        placement=(-ppn 1 -hosts "$(node_list "${used[@]}")")
    else
        placement=(-hosts "$(node_list "${node_of_rank[@]}")")
        variables+=("CALM_PROCESS_MAPPING=$(process_mapping)")
    fi
}

# "n0,n1,n0" from 0 1 0.
node_list() {
    local list
    printf -v list ',n%s' "$@"
    echo "${list#,}"
}

# MPICH's description of node_of_rank: blocks of (first node, nodes, ranks on each).
process_mapping() {
    local rank node length=0 blocks='' number=() numbers=0
    for ((rank = 0; rank < ${#node_of_rank[@]}; rank++)); do
        node=${node_of_rank[rank]} length=$((length + 1))
        [[ ${number[node]-} ]] || number[node]=$((numbers++))
        [[ ${node_of_rank[rank + 1]-} == "$node" ]] && continue
        blocks+=",(${number[node]},1,$length)" length=0
    done
    echo "(vector$blocks)"
}
