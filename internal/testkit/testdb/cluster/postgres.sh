# The keeper of a PostgreSQL cluster. Arguments: directory of the binaries, the
# directory to make, the port, more lines of configuration, and the port of the server
# that it follows as a standby, if it is one. Prints "ready", or what went wrong.
set -u
bin=$1 dir=$2 port=$3 settings=$4 primary=${5:-}

finish() {
	trap - EXIT
	if [ -f "$dir/data/postmaster.pid" ]; then
		"$bin/pg_ctl" -D "$dir/data" -m immediate -t 30 stop >/dev/null 2>&1
	fi
	rm -rf "$dir"
}
mkdir -m 700 "$dir" || exit 1
trap finish EXIT
trap 'exit 1' HUP INT TERM

# Trust is safe: the port is bound to the loopback only, the data is of tests.
# The locale C is on every machine and sorts alike on all of them. Not syncing
# concerns the files of initdb alone. A standby copies them, and its lines of configuration
# come after those of its primary.
make() {
	if [ -n "$primary" ]; then
		"$bin/pg_basebackup" -h 127.0.0.1 -p "$primary" -U postgres -D "$dir/data" -R -X stream -c fast --no-sync
	else
		"$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale=C --no-sync
	fi
}
{
	make &&
	cat >>"$dir/data/postgresql.conf" <<-CONF
		listen_addresses = '127.0.0.1'
		port = $port
		unix_socket_directories = '$dir'
		# Many tests run at once, each with a pool and some with child processes.
		max_connections = 600
		# fsync, synchronous_commit and full_page_writes keep their defaults, unless
		# the settings say otherwise: what is measured here is what production does.
		#
		# A checkpoint in the middle of the tests is noise on a small machine.
		checkpoint_timeout = 30min
		max_wal_size = 4GB
		# A deadlock is what some tests make on purpose.
		deadlock_timeout = 200ms
		# When a test fails, the log should tell what the server saw.
		log_line_prefix = '%m [%p] %a '
		$settings
	CONF
	"$bin/pg_ctl" -D "$dir/data" -w -t 120 -l "$dir/server.log" start </dev/null
} >"$dir/start.log" 2>&1
if [ $? -ne 0 ]; then
	tail -n 20 "$dir/start.log" "$dir/server.log" 2>/dev/null
	exit 1
fi
echo ready
read -r _ || :
