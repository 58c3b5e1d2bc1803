// Package cluster starts private servers for tests: PostgreSQL, PgBouncer in transaction
// mode before it, the brokers RabbitMQ and NATS, and Prometheus.
//
// # What holds here
//
//   - A server lives in one new directory under the temporary directory, on a
//     free port of 127.0.0.1. It touches no other cluster of the machine.
//   - Each server is kept by a small shell script, its keeper, in a session of
//     its own. The keeper reads a pipe whose other end only the starting process
//     holds. When that end closes, by Stop or because the process ended in
//     whatever way, SIGKILL included, the keeper stops the server and removes
//     the directory. So nothing is left, and nobody has to remember to clean up.
//   - PostgreSQL and PgBouncer refuse to run as root. Started by root, the
//     keeper runs as the user postgres, or nobody.
//   - What is not installed is installed with the system's package manager when
//     root runs the tests; otherwise the error, a *[NotInstalledError], says what to install.
package cluster
