# The keeper of a Prometheus server. Arguments: the binary, the directory to make, the port, the
# configuration, and the rules that it may name as rules.yml. Prints "ready" when the program has been started, or what went wrong. Then it takes
# orders, a line each: "down", which kills
# the server, "stop", which lets it end in order, and "up".
set -u
bin=$1 dir=$2 port=$3 config=$4 rules=$5
pid=

up() {
	"$bin" --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/data" --web.listen-address="127.0.0.1:$port" \
		--enable-feature=exemplar-storage --log.level=warn >>"$dir/server.log" 2>&1 </dev/null &
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
printf '%s\n' "$config" >"$dir/prometheus.yml"
printf '%s\n' "$rules" >"$dir/rules.yml"
up
echo ready
while read -r order; do
	case $order in
	down) end KILL ;;
	stop) end TERM ;;
	up) up ;;
	esac
done
