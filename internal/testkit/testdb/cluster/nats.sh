# The keeper of a NATS server with JetStream. Arguments: the binary, the directory to make, the
# port. Prints "ready" when the program has been started, or what went wrong. Then it takes
# orders, a line each: "down", which kills
# the server, "stop", which lets it end in order, and "up".
set -u
bin=$1 dir=$2 port=$3
pid=

up() {
	"$bin" -a 127.0.0.1 -p "$port" -js -sd "$dir/data" >>"$dir/server.log" 2>&1 </dev/null &
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
	rm -rf "$dir"
}
mkdir -m 700 "$dir" || exit 1
trap finish EXIT
trap 'exit 1' HUP INT TERM
up
echo ready
while read -r order; do
	case $order in
	down) end KILL ;;
	stop) end TERM ;;
	up) up ;;
	esac
done
