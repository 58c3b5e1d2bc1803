# The keeper of a PgBouncer. Arguments: the binary, the directory to make, the
# port, then host, port and user of the server behind. Prints "ready" when the
# program has been started, or what went wrong. Then it takes orders, a line each:
# "down" and "up".
set -u
bin=$1 dir=$2 port=$3 host=$4 hostport=$5 user=$6
pid=

# PgBouncer 1.18, which Debian 12 has, ends now and then when many clients cancel their
# queries (https://github.com/pgbouncer/pgbouncer/issues/822). It is started again, as
# a service manager would do it: the clients of that moment lose their connections, and
# nobody else does.
up() {
	(
		trap 'kill -KILL "$!" 2>/dev/null; exit' TERM
		while :; do
			"$bin" "$dir/pgbouncer.ini" >>"$dir/server.log" 2>&1 </dev/null &
			wait "$!"
			sleep 0.1
		done
	) &
	pid=$!
}
down() {
	if [ -n "$pid" ]; then
		kill -TERM "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	fi
	pid=
}
finish() {
	trap - EXIT
	down
	rm -rf "$dir"
}
mkdir -m 700 "$dir" || exit 1
trap finish EXIT
trap 'exit 1' HUP INT TERM

# Every client becomes the one user, so no list of users is needed. The pool is
# smaller than what a worker opens, so that clients do change connections
# between their transactions. PgBouncer drops the startup parameters named here:
# search_path is among them because a pooled connection belongs to nobody.
cat >"$dir/pgbouncer.ini" <<-CONF
	[databases]
	* = host=$host port=$hostport user=$user
	[pgbouncer]
	listen_addr = 127.0.0.1
	listen_port = $port
	unix_socket_dir =
	auth_type = any
	pool_mode = transaction
	default_pool_size = 4
	max_client_conn = 1000
	server_idle_timeout = 10
	server_reset_query =
	ignore_startup_parameters = extra_float_digits,search_path,application_name,options
	admin_users = postgres
CONF
up
echo ready
while read -r order; do
	case $order in
	down) down ;;
	up) up ;;
	esac
done
