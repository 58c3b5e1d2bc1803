// Package testdb gives each test a database of its own: PostgreSQL, PostgreSQL
// behind PgBouncer, or an SQLite file. No test needs a TestMain, and nothing
// has to be installed or started by hand.
//
// The PostgreSQL cluster and the PgBouncer are private ones. A run of `make
// test` starts them once for all test binaries and names them in the
// environment (cluster.PostgresEnv, cluster.PgBouncerEnv); a plain `go test
// ./pkg` starts its own with the first test that needs one. They end with the
// process that started them. To use another server, set the variables to a
// superuser's DSN.
//
// taskkit's tables are not there yet: a test that wants them migrates, or takes a database from [EachMigrated].
package testdb
