# The keeper of a RabbitMQ server. Arguments: the script rabbitmq-server, the directory to make,
# the port, and two more free ports. Prints "ready" when the program has been started, or what
# went wrong. Then it takes orders, a line each: "down", which kills
# the server, "stop", which lets it end in order, and "up".
set -u
bin=$1 dir=$2 port=$3 dist=$4 epmd=$5
pid=

up() {
	# Under systemd the script becomes the server, so that the kill reaches it.
	RUNNING_UNDER_SYSTEMD=true "$bin" >>"$dir/server.log" 2>&1 </dev/null &
	pid=$!
}
end() {
	if [ -n "$pid" ]; then
		kill "-$1" "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	fi
	pid=
}
finish() {
	trap - EXIT
	end KILL
	epmd -port "$epmd" -kill >/dev/null 2>&1
	rm -rf "$dir"
}
mkdir -m 700 "$dir" || exit 1
trap finish EXIT
trap 'exit 1' HUP INT TERM

# Erlang's threads would wait for work by asking for it all the time, on processors that the tests share.
export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="+sbwt none +sbwtdcpu none +sbwtdio none"
# Names, ports and files of its own: another server of this machine is none of its business.
export HOME="$dir" RABBITMQ_NODENAME="taskkit$port@localhost" RABBITMQ_DIST_PORT="$dist" ERL_EPMD_PORT="$epmd" \
	ERL_EPMD_ADDRESS=127.0.0.1 RABBITMQ_MNESIA_BASE="$dir/data" RABBITMQ_LOG_BASE="$dir/log" RABBITMQ_LOGS=- \
	RABBITMQ_CONFIG_FILE="$dir/rabbitmq.conf" RABBITMQ_ENABLED_PLUGINS_FILE="$dir/plugins" \
	RABBITMQ_CONF_ENV_FILE="$dir/env" RABBITMQ_PID_FILE="$dir/pid" RABBITMQ_SCHEMA_DIR="$dir/schema"
# At each start the server reads the modules of all its plugins, which takes longer than the rest: it gets
# those only that it consists of.
all="$(dirname "$(readlink -f "$bin")")/../plugins"
if [ -d "$all" ]; then
	mkdir "$dir/needed"
	for plugin in "$all"/*; do
		case ${plugin##*/} in
		rabbitmq_prelaunch*) ln -s "$plugin" "$dir/needed" ;;
		rabbitmq_*) ;;
		*) ln -s "$plugin" "$dir/needed" ;;
		esac
	done
	export RABBITMQ_PLUGINS_DIR="$dir/needed"
fi
echo '[].' >"$dir/plugins"
: >"$dir/env"
cat >"$dir/rabbitmq.conf" <<-CONF
	listeners.tcp.1 = 127.0.0.1:$port
	vm_memory_high_watermark.absolute = 1GB
	disk_free_limit.absolute = 10MB
CONF
up
echo ready
while read -r order; do
	case $order in
	down) end KILL ;;
	stop) end TERM ;;
	up) up ;;
	esac
done
